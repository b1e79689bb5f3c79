"""Finished runs for TensorBoard, one folder of event files each, beside the runs of a store.

The files are written without TensorFlow, protobuf or TensorBoard.

A file is a row of records: length, checksum of the length, event, checksum of the event. An event
is a protocol-buffer message; the few fields that scalars need are put together here by hand.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from clew.store import RunFolder, Store, atomic, require
from clew.validate import BadInput, whole_number

FOLDER = "tensorboard"
VERSION = "brain.Event:2"
_DOUBLE, _BYTES, _FLOAT = 1, 2, 5  # how a field is encoded; 0 is a whole number of any length

Series = Mapping[str, tuple[Sequence[int], Sequence[float]]]


def write_tensorboard(store: Store, runs: Iterable[RunFolder]) -> list[Path]:
    """Write the files of those runs that are finished and have none yet."""
    written = []
    for run in runs:
        folder = store.root / FOLDER / run.name
        if not any(folder.glob("events.*")) and run.find(deep=False).status == "finished":
            written.append(write_series(folder, scalars(run)))
    return written


def scalars(run: RunFolder) -> dict[str, tuple[list[int], list[float]]]:
    """Everything that was recorded of a run, by tag; vectors under the names of their entries."""
    result = require(run.name, "result", run.result(), ("events", "components"))
    names = {"events": result["events"], "gradient_norm": result["components"]}
    curve, diagnostics = run.curve(), run.diagnostics()
    require(run.name, "curve", curve, ["steps"])
    require(run.name, "diagnostics", diagnostics, ["steps"])
    found = {}
    for part, arrays in (("evaluation", curve), ("rollout", diagnostics)):
        steps = arrays.pop("steps").tolist()
        for name, values in arrays.items():
            for tag, series in _columns(f"{part}/{name}", values, names):
                found[tag] = (steps, series)
    return found


def write_series(
    folder: str | os.PathLike[str], series: Series, wall_time: float | None = None
) -> Path:
    """Write whole curves, `{tag: (steps, values)}`, as one file; what was recorded long ago."""
    wall_time = time.time() if wall_time is None else wall_time
    by_step: dict[int, dict[str, float]] = {}
    for tag, (steps, values) in series.items():
        if len(steps) != len(values):
            raise BadInput(f"{tag!r} has {len(steps)} steps and {len(values)} values")
        for step, value in zip(steps, values, strict=True):
            by_step.setdefault(int(step), {})[tag] = value
    records = [scalars_at(step, by_step[step], wall_time) for step in sorted(by_step)]
    content = version(wall_time) + b"".join(records)
    path = Path(folder) / file_name(wall_time)
    atomic.write(path, lambda file: file.write(content))
    return path


def file_name(wall_time: float) -> str:
    """TensorBoard looks for `tfevents`, and reads the files of a folder in this order."""
    host = socket.gethostname().replace(os.sep, "-") or "host"
    return f"events.out.tfevents.{int(wall_time):010d}.{host}.{os.getpid()}.{secrets.token_hex(4)}"


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


def _columns(
    tag: str, values: np.ndarray, names: dict[str, list[str]]
) -> list[tuple[str, list[float]]]:
    if values.ndim == 1:
        return [(tag, values.tolist())]
    entries = names[tag.rsplit("/", 1)[-1]]
    return [(f"{tag}/{entry}", values[:, i].tolist()) for i, entry in enumerate(entries)]


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
