"""Event files: byte for byte what the tensorboard package writes (`tests/oracles`)."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import CannotWrite
from clew.suite.tensorboard import crc32c, scalars_at, version, write_series
from clew.validate import BadInput
from tests.oracles.tensorboard_events import EVENTS, GOLDEN, WALL
from tests.store.faults import failing, nth, watched


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message, by a reader that shares no code with the writer."""
    at = 0

    def whole() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = whole()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            yield key >> 3, whole()
            continue
        size = whole() if size is None else size
        yield key >> 3, data[at : at + size]
        at += size


def events(content: bytes) -> list[tuple[int, dict[str, float]]]:
    found, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        event = dict(fields(content[at + 12 : at + 12 + length]))
        at += length + 16
        if 3 in event:
            assert event[3] == b"brain.Event:2"
            continue
        values = [dict(fields(value)) for _, value in fields(event[5])]
        scalars = {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}
        found.append((event.get(2, 0), scalars))
    return found


def test_the_same_bytes_as_tensorboard() -> None:
    written = version(WALL) + b"".join(scalars_at(step, row, WALL) for step, row in EVENTS)
    assert written == GOLDEN.read_bytes()


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (b"", 0)],
)
def test_known_checksums(data: bytes, crc: int) -> None:
    """The last three are RFC 3720's."""
    assert crc32c(data) == crc


STEPS = st.integers(0, 2**63 - 1)
TAGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
SCALARS = st.dictionaries(TAGS, st.floats(width=32, allow_nan=False), max_size=4)


@given(st.lists(st.tuples(STEPS, SCALARS), max_size=5))
def test_what_is_written_is_what_is_read(rows: list[Any]) -> None:
    assert events(b"".join(scalars_at(step, row, 0.0) for step, row in rows)) == rows


def test_whole_curves(tmp_path: Path) -> None:
    steps = np.arange(1, 4) * 81920
    path = write_series(
        tmp_path, {"a": (steps.tolist(), np.arange(3.0).tolist()), "b": ([0, 81920], [5.0, 6.0])}
    )
    assert events(path.read_bytes()) == [
        (0, {"b": 5.0}), (81920, {"a": 0.0, "b": 6.0}), (163840, {"a": 1.0}), (245760, {"a": 2.0}),
    ]  # fmt: skip
    assert "tfevents" in path.name
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(BadInput, match="'a' has 2 steps and 1 values"):
        write_series(tmp_path, {"a": ([1, 2], [1.0])})


@pytest.mark.parametrize("step", [-1, 1.5, 2**63])
def test_bad_steps(step: Any) -> None:
    with pytest.raises(BadInput, match="step="):
        scalars_at(step, {}, 0.0)


def test_a_full_disk_is_a_message(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotWrite, match="No space left"),
        watched(nth(0, failing(errno.ENOSPC), ("write",))),
    ):
        write_series(tmp_path, {"x": ([1], [1.0])})
    assert os.listdir(tmp_path) == []
