"""Logs for TensorBoard, one folder of event files a run, beside the runs of a store.

The files are written without TensorFlow, protobuf or TensorBoard.

A file is a row of records: length, checksum of the length, event, checksum of the event. An event
is a protocol-buffer message; the few fields that scalars need are put together here by hand.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.store import RunFolder, atomic
from clew.validate import whole_number

if TYPE_CHECKING:
    from clew.suite.logs import End, Row

FOLDER = "tensorboard"
VERSION = "brain.Event:2"
_DOUBLE, _BYTES, _FLOAT = 1, 2, 5  # how a field is encoded; 0 is a whole number of any length
_AFTER_TIME = 8 + 4 + 1 + 8  # length, its checksum, a field's key, and the wall time


class TensorBoardLog:
    """An event file, to which records are added: a process that is killed leaves whole ones."""

    def __init__(self, root: Path, run: RunFolder, rows: Sequence[Row]) -> None:
        folder, now = root / FOLDER / run.name, time.time()
        before = sorted(folder.glob("events.*"))
        self._done = folder / "complete"
        self._done.unlink(missing_ok=True)
        end = _end_of(rows, before[0]) if len(before) == 1 else None
        if end is not None:  # the same file goes on, so that a TensorBoard that has it open does
            self._path = before[0]
            with atomic.explain_errors(self._path):
                os.truncate(self._path, end)
            return
        self._path = folder / file_name(now)
        content = version(now) + _records(rows, now)
        atomic.write(self._path, lambda file: file.write(content))
        for path in before:
            path.unlink(missing_ok=True)

    @staticmethod
    def is_complete(root: Path, run: RunFolder) -> bool:
        """Whether a log was closed at the run's end."""
        return (root / FOLDER / run.name / "complete").exists()

    def write(self, rows: Sequence[Row]) -> None:
        """Add records in one piece."""
        # a file that is gone is another worker's, which has taken over, or was removed by hand
        with atomic.explain_errors(self._path), contextlib.suppress(FileNotFoundError):
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(handle, _records(rows, time.time()))
            finally:
                os.close(handle)

    def close(self, end: End) -> None:
        """Say that it is whole."""
        if end == "complete":
            atomic.write(self._done, lambda file: file.write(b""))


def file_name(wall_time: float) -> str:
    """TensorBoard looks for `tfevents`, and reads the files of a folder in this order."""
    host = socket.gethostname().replace(os.sep, "-") or "host"
    return f"events.out.tfevents.{wall_time:017.6f}.{host}.{os.getpid()}.{secrets.token_hex(4)}"


def version(wall_time: float) -> bytes:
    """The record that a file begins with."""
    return record(_field(1, _DOUBLE, struct.pack("<d", wall_time)) + _text(3, VERSION))


def scalars_at(step: int, scalars: Mapping[str, float], wall_time: float) -> bytes:
    """One record: Event{wall_time = 1, step = 2, summary = 5}, Summary{value = 1 …}."""
    whole_number("step", step, 0, 2**63 - 1)
    summary = b"".join(_sized(1, _value(tag, value)) for tag, value in scalars.items())
    event = _field(1, _DOUBLE, struct.pack("<d", wall_time))
    # the first step is the default, and defaults are left out
    event += _field(2, 0, _varint(int(step))) if step else b""
    return record(event + _sized(5, summary))


def record(data: bytes) -> bytes:
    """A message with its length and both checksums."""
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _end_of(rows: Sequence[Row], path: Path) -> int | None:
    """Where these rows end in a file; None if it does not begin with them, whenever written."""
    data, at = path.read_bytes(), len(version(0.0))
    for row in rows:
        wanted = _records([row], 0.0)
        if data[at + _AFTER_TIME : at + len(wanted) - 4] != wanted[_AFTER_TIME:-4]:
            return None
        at += len(wanted)
    return at


def _records(rows: Sequence[Row], wall_time: float) -> bytes:
    return b"".join(scalars_at(step, row, wall_time) for step, row in rows)


def _value(tag: str, value: float) -> bytes:
    """Value{tag = 1, simple_value = 2}."""
    with np.errstate(over="ignore"):
        number = np.float32(value).astype("<f4").tobytes()
    return _text(1, tag) + _field(2, _FLOAT, number)


def _text(number: int, text: str) -> bytes:
    return _sized(number, text.encode())


def _sized(number: int, data: bytes) -> bytes:
    return _field(number, _BYTES, _varint(len(data)) + data)


def _field(number: int, kind: int, data: bytes) -> bytes:
    return _varint(number << 3 | kind) + data


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that there is more."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _checksum(data: bytes) -> bytes:
    """CRC-32C, rotated and shifted so that a checksum of checksums is no weaker."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """Castagnoli's polynomial, bits reversed."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        table.append(entry)
    return table


_TABLE = _table()
