"""Files that say what they are and end with their checksum; and those of them that are JSON.

Every file of a store has a header (its role, and the hash of the configuration that it belongs to)
and the SHA-256 of all that precedes it. JSON documents have the checksum as their last field.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from clew.store import atomic
from clew.store.canonical import plain
from clew.store.columns import SCHEMA
from clew.store.errors import CannotRead, Damaged, FromTheFuture

HEX = 64
_DIGEST = re.compile(rb"[0-9a-f]{64}")
_BLOCK = 1 << 20
LARGEST = 64 << 20
"""Bytes of a document: what lies in a store may come from anywhere, and is read into memory."""
_TAIL = b'"\n}\n'


class Header(NamedTuple):
    """What a file claims to be."""

    role: str
    """Such as 'curve'."""
    of: str
    """Hash of the configuration that it belongs to."""
    schema: int = SCHEMA
    """The version of `SCHEMA` that it was written with; 1 for documents without one."""

    def expect(self, path: Path, found: Header) -> None:
        """Refuse a sound file that is out of place."""
        if found.role != self.role:
            raise Damaged(path, f"is a {found.role!r} file and should be a {self.role!r}")
        if found.of != self.of:
            raise Damaged(path, f"belongs to {found.of[:12]}, not to {self.of[:12]}")


def write_document(path: Path, header: Header, data: object, *, overwrite: bool = True) -> None:
    """Write plain data."""
    content = document(header, data)
    atomic.write(path, lambda file: file.write(content), overwrite=overwrite)


def read_document(path: Path, header: Header) -> Any:
    """The data, if the file is sound and is what it should be."""
    found, data = read_any(path)
    header.expect(path, found)
    return data


def read_any(path: Path) -> tuple[Header, Any]:
    """What a sound document is, and its data."""
    with reading(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise Damaged(path, f"is longer than any document of a store ({LARGEST:,} bytes)")
        verify(path, file, _TAIL)
        file.seek(0)
        text = file.read()
    try:
        whole = json.loads(text, parse_constant=_refuse)
        header = Header(whole["role"], whole["of"], whole.get("schema", 1))
        data = whole["data"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(path, f"is not a document of a store ({error!r})") from None
    if [type(value) for value in header] != [str, str, int]:
        raise Damaged(path, "does not say what it is")
    if header.schema > SCHEMA:
        raise FromTheFuture(path, header.schema, SCHEMA)
    return header, data


def document(header: Header, data: object) -> bytes:
    """The bytes of a document: the same data are the same bytes."""
    text = json.dumps(plain(data, header.role), indent=1, sort_keys=True, ensure_ascii=False)
    head = "".join(f'"{name}": {json.dumps(value)},\n' for name, value in header._asdict().items())
    body = f'{{\n{head}"data": {text},\n"sha256": "'.encode()
    return body + hashlib.sha256(body).hexdigest().encode() + _TAIL


class ChecksumWriter:
    """A stream to write to. The digest takes the place of the last 64 bytes that were written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self._last = file, hashlib.sha256(), b""

    def write(self, data: bytes | memoryview) -> int:
        """Pass on all but the last 64 bytes."""
        view = memoryview(data).cast("B")
        if len(view) < HEX:
            self._last += view.tobytes()
            self._pass(self._last[:-HEX])
            self._last = self._last[-HEX:]
        else:
            self._pass(self._last)
            self._pass(view[:-HEX])
            self._last = view[-HEX:].tobytes()
        return len(view)

    def flush(self) -> None:
        """Nothing: the file below is flushed when it is whole."""

    def close(self) -> str:
        """Write the digest over the last 64 bytes, and return it."""
        digest = self._hash.hexdigest()
        self._file.write(digest.encode())
        return digest

    def _pass(self, data: bytes | memoryview) -> None:
        self._hash.update(data)
        self._file.write(data)


def verify(path: Path, file: IO[bytes], tail: bytes = b"") -> str:
    """Read a file to its end and return its digest, if that is the one it ends with."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise Damaged(path, "is empty")
    body = size - HEX - len(tail)
    if body <= 0:
        raise Damaged(path, "is cut short")
    running, left = hashlib.sha256(), body
    while left and (block := file.read(min(_BLOCK, left))):
        running.update(block)
        left -= len(block)
    claim, end = file.read(HEX), file.read()
    if left or end != tail or not _DIGEST.fullmatch(claim):
        raise Damaged(path, "is damaged or cut short: it does not end with its checksum")
    if running.hexdigest() != claim.decode():
        raise Damaged(path, "does not match its checksum")
    return claim.decode()


def names_in(folder: Path) -> list[str]:
    """Of everything in a folder, in order; none if it is not there."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CannotRead(folder, error) from error


def at_once(path: str, flags: int) -> int:
    """An opener that does not wait for somebody to write into a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain file; `FileNotFoundError` if there is none."""
    try:
        with open(path, "rb", opener=at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Damaged(path, "is not a plain file")
            yield file
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise Damaged(path, "is a folder") from None
    except OSError as error:
        raise CannotRead(path, error) from error
