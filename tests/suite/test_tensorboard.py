"""Event files: byte for byte what the tensorboard package writes (`tests/oracles`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.suite.tensorboard import crc32c, scalars_at, version
from clew.validate import BadInput
from tests.oracles.tensorboard_events import EVENTS, GOLDEN, WALL
from tests.suite.event_files import events


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


@pytest.mark.parametrize("step", [-1, 1.5, 2**63])
def test_bad_steps(step: Any) -> None:
    with pytest.raises(BadInput, match="step="):
        scalars_at(step, {}, 0.0)
