"""Write a file whole or not at all.

The bytes go to a temporary file in the same folder, are flushed to the disk, and then take the
file's name in one step; the folder is flushed too. Whoever reads sees the old file or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from clew.store.errors import CannotWrite, stamp

TEMPORARY = ".tmp-"
_SIGNATURE = ContextVar("_SIGNATURE", default="")
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

Fill = Callable[[IO[bytes]], object]


def write(path: Path, fill: Fill, *, overwrite: bool = True) -> None:
    """Let `fill` write a file, and give it its name once it is whole and on the disk.

    Without `overwrite`, of several writers one succeeds and the others get `FileExistsError`.
    """
    with explain_errors(path):
        make_folder(path.parent)
        unique = f"{_SIGNATURE.get()}{secrets.token_hex(6)}"
        temporary = path.with_name(f"{TEMPORARY}{unique}-{path.name}")
        try:
            with _opened(temporary) as file:
                fill(file)
            if overwrite:
                os.replace(temporary, path)
            else:
                publish_new(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each entered in its parent on the disk."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
        sync_folder(folder.parent)


def move(path: Path, target: Path) -> None:
    """Rename a file, and flush both folders to the disk."""
    with explain_errors(target):
        make_folder(target.parent)
        os.replace(path, target)
        sync_folder(target.parent)
        sync_folder(path.parent)


@contextlib.contextmanager
def signed(by: str) -> Iterator[None]:
    """Let the files that are being written bear the name of a lease."""
    token = _SIGNATURE.set(f"{by}-")
    try:
        yield
    finally:
        _SIGNATURE.reset(token)


def sweep(folder: Path, by: str | None = None) -> int:
    """Remove what interrupted writes left behind, or only what is signed `by` a lease.

    For whoever holds that lease, or the one on the folder. A writer that is still alive there has
    lost it: its rename fails, and it is told.
    """
    swept = 0
    beginning = TEMPORARY if by is None else f"{TEMPORARY}{by}-"
    with explain_errors(folder), contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name.startswith(beginning):
                os.unlink(folder / name)
                swept += 1
    return swept


def publish_new(temporary: Path, path: Path) -> None:
    """Give a file its name, if there is none of that name: a hard link cannot replace anything."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        # Over a network the answer to a link that succeeded may be lost, and the second try fail.
        if stamp(temporary) != stamp(path):
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy_new(temporary, path)
    os.unlink(temporary)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into `CannotWrite`, which says what to do."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise CannotWrite(path, error) from error


class _Raw(io.RawIOBase):
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return os.write(self.handle, data)  # type: ignore[arg-type]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        buffer = io.BufferedWriter(_Raw(handle), 1 << 20)
        yield buffer
        buffer.flush()
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy_new(temporary: Path, path: Path) -> None:
    """Where there are no links: whoever creates the file has the name, and fills it in its place.

    Somebody who finds it half written may set it aside; then it is created again.
    """
    whole, there = temporary.read_bytes(), None
    while there != whole:
        with _opened(path) as file:
            file.write(whole)
        with contextlib.suppress(FileNotFoundError):
            there = path.read_bytes()
