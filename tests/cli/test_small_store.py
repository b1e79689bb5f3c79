"""A store on a full and on a read-only disk, through the command line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.store.test_disk import ROOT, may_mount

MOUNT = "mount -t tmpfs -o size=700k tmpfs"


def on_a_small_disk(what: str, folder: Path) -> list[object]:
    """In a namespace of its own: the mount is gone when the process is."""
    disk, elsewhere = folder / "disk", folder / "elsewhere"
    for each in (disk, elsewhere):
        each.mkdir()
    if not may_mount(disk):
        pytest.skip("no file system can be mounted here")
    script = f"{MOUNT} '{disk}' && exec '{sys.executable}' -m tests.cli.small_store {what}"
    command = ["unshare", "-rm", "sh", "-c", f"{script} '{disk}' '{elsewhere}'"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_a_full_disk_is_told_and_the_same_command_goes_on(tmp_path: Path) -> None:
    tried = on_a_small_disk("full", tmp_path)
    assert tried[0] == 0
    assert len(tried) >= 4  # refused at the store's mark, at checkpoints, and at results


def test_a_read_only_store(tmp_path: Path) -> None:
    assert on_a_small_disk("read-only", tmp_path) == ["go on", "retry", "begin", "merge"]
