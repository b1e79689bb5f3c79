"""A store on a full and on a read-only disk, through the command line."""

from __future__ import annotations

from pathlib import Path

from tests.mounts import on_a_small_disk


def tried(what: str, folder: Path) -> list[object]:
    disk, elsewhere = folder / "disk", folder / "elsewhere"
    for each in (disk, elsewhere):
        each.mkdir()
    return on_a_small_disk("700k", disk, "tests.cli.small_store", what, str(disk), str(elsewhere))


def test_a_full_disk_is_told_and_the_same_command_goes_on(tmp_path: Path) -> None:
    refused = tried("full", tmp_path)
    assert refused[0] == 0
    assert len(refused) >= 4  # refused at the store's mark, at checkpoints, and at results


def test_a_read_only_store(tmp_path: Path) -> None:
    assert tried("read-only", tmp_path) == ["go on", "retry", "begin", "merge"]
