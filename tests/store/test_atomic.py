"""A file is the old one or the new one, whatever fails in between."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from clew.store import CannotWrite, atomic
from tests.store.faults import calls_of, failing, nth, watched

DATA = b"new" * 1000


def put(path: Path, data: bytes = DATA, **how: Any) -> None:
    atomic.write(path, lambda file: file.write(data), **how)


def test_bytes_reach_the_disk_before_the_name_and_the_name_before_we_return(tmp_path: Path) -> None:
    steps = calls_of(lambda: put(tmp_path / "f"))
    assert steps == ["open", "write", "fsync", "replace", "open", "fsync"]
    steps = calls_of(lambda: put(tmp_path / "g", overwrite=False))
    assert steps == ["open", "write", "fsync", "link", "unlink", "open", "fsync"]


def test_new_folders_are_entered_in_their_parents(tmp_path: Path) -> None:
    steps = calls_of(lambda: put(tmp_path / "a" / "b" / "f"))
    assert steps[:6] == ["mkdir", "open", "fsync"] * 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("call", range(6))
def test_a_failure_anywhere_leaves_the_old_file(tmp_path: Path, call: int, number: int) -> None:
    path = tmp_path / "f"
    put(path, b"old")
    # the clean-up may still remove the temporary file: a full disk allows that
    among = ("open", "write", "fsync", "replace")
    with pytest.raises(CannotWrite) as error, watched(nth(call, failing(number), among)):
        put(path)
    assert error.value.errno == number
    assert repr(str(path)) in str(error.value)
    # from the fifth call on the new file has its name; only the folder was not flushed
    assert path.read_bytes() == (b"old" if call < 4 else DATA)
    assert os.listdir(tmp_path) == ["f"]


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:7])))
    put(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


def test_an_error_while_filling_leaves_nothing(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file.write(DATA)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic.write(tmp_path / "f", fill)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_without_overwriting_the_first_wins(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", lambda *args: failing(errno.EOPNOTSUPP)("link"))
    put(tmp_path / "f", b"first", overwrite=False)
    with pytest.raises(FileExistsError):
        put(tmp_path / "f", overwrite=False)
    assert (tmp_path / "f").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_whose_answer_was_lost_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def twice(*args: Any) -> None:
        link(*args)
        link(*args)

    monkeypatch.setattr(os, "link", twice)
    put(tmp_path / "f", overwrite=False)
    assert (tmp_path / "f").read_bytes() == DATA


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "make room and run the same command again"),
        (errno.EROFS, "choose a folder that you may write to"),
        (errno.EACCES, "choose a folder that you may write to"),
    ],
)
def test_the_message_says_what_to_do(tmp_path: Path, number: int, advice: str) -> None:
    with pytest.raises(CannotWrite, match=advice), watched(nth(0, failing(number))):
        put(tmp_path / "f")


def test_sweeping_takes_temporary_files_only(tmp_path: Path) -> None:
    put(tmp_path / "f")
    (tmp_path / f"{atomic.TEMPORARY}abc-f").write_bytes(b"half")
    assert atomic.sweep(tmp_path) == 1
    assert os.listdir(tmp_path) == ["f"]
    assert atomic.sweep(tmp_path / "none") == 0


def test_a_writer_that_was_swept_is_told(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file.write(DATA)
        atomic.sweep(tmp_path)

    with pytest.raises(CannotWrite, match="No such file"):
        atomic.write(tmp_path / "f", fill)
    assert os.listdir(tmp_path) == []
