"""What can go wrong with a store."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from clew.validate import BadInput

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_MISPLACED = {errno.ENOTDIR, errno.EEXIST}


class CannotWrite(BadInput):
    """The store cannot be written: read-only, full, not ours. What was there is still there."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.errno = error.errno
        advice = way_out(error) or "nothing that was stored is lost"
        super().__init__(f"{str(path)!r} cannot be written ({_why(error)}); {advice}")


class CannotRead(BadInput):
    """Something is there and may be sound, but this process cannot read it."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.errno = error.errno
        advice = "; name another folder" if error.errno in _MISPLACED else ""
        super().__init__(f"{str(path)!r} cannot be read ({_why(error)}){advice}")


class Damaged(Exception):  # noqa: N818 (a finding about a file, not a failure of the program)
    """A file is not what was once written under its name, and is never read as data."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        self.stamp = stamp(path)
        """Which file was judged: by the time it is moved, another may be in its place."""
        super().__init__(f"{str(path)!r} {reason}")


class FromTheFuture(Damaged):
    """A later version of Clew wrote the file: it stays where it is, for that version to read."""

    def __init__(self, path: Path, schema: int, known: int) -> None:
        super().__init__(
            path,
            f"was written by a later version of Clew (schema {schema}; this one knows {known})",
        )


class Conflict(RuntimeError):  # noqa: N818
    """Two different results for one configuration. The one that was there first stays."""


class LeaseLost(RuntimeError):  # noqa: N818
    """Another worker has taken over; whoever is told this must write nothing more."""


def stamp(path: Path) -> tuple[int, ...] | None:
    """What tells one file from another that takes its name."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def way_out(error: OSError) -> str:
    """What to do about it, where that is known; else nothing."""
    if error.errno in _FULL:
        return "make room and run the same command again: nothing that was stored is lost"
    if error.errno in _FORBIDDEN:
        return "choose a folder that you may write to"
    if error.errno in _MISPLACED:
        return "a file is where a folder should be: name another folder"
    return "it is a folder: name a file" if error.errno == errno.EISDIR else ""


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
