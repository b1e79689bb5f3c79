"""Plain data become dataclasses as their types say, or a sentence that says where they do not."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.loading import load, read_toml
from clew.validate import BadInput


@dataclasses.dataclass(frozen=True)
class Part:
    size: int
    shape: Literal["round", "square"] = "round"

    def __post_init__(self) -> None:
        if self.size < 0:
            raise BadInput(f"size={self.size} is not valid; it must be at least 0")


@dataclasses.dataclass(frozen=True)
class Whole:
    name: str
    weight: float | None = None
    ready: bool = False
    parts: tuple[Part, ...] = ()
    words: Sequence[str] = ()
    by_name: Mapping[str, Mapping[str, object]] = dataclasses.field(default_factory=dict)
    seeds: int | Sequence[int] = 1


GOOD: dict[str, Any] = {
    "name": "a", "weight": 2, "ready": True, "parts": [{"size": 1}, {"size": 2, "shape": "square"}],
    "words": ["x"], "by_name": {"y": {"z": None}}, "seeds": [1, 2],
}  # fmt: skip


def test_what_is_right_is_loaded() -> None:
    whole = load(GOOD, Whole, "whole")
    assert whole.parts == (Part(1), Part(2, "square"))
    assert (whole.weight, whole.by_name, whole.seeds) == (2, {"y": {"z": None}}, [1, 2])
    assert load({"name": "a"}, Whole, "whole") == Whole("a")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 3}, "name=3 is not valid; it must be text"),
        ({"weight": "3"}, "weight='3' is not valid; it must be a number"),
        ({"weight": True}, "weight=True is not valid; it must be a number"),
        ({"ready": 1}, "ready=1 is not valid; it must be true or false"),
        ({"parts": 3}, "parts=3 is not valid; it must be a list"),
        ({"parts": [{"size": 1}, 3]}, "parts[1]=3 is not valid; it must be a table"),
        (
            {"parts": [{"size": 1e6}]},
            "parts[0].size=1000000.0 is not valid; it must be a whole number: write 1000000",
        ),
        ({"parts": [{"size": 1.5}]}, "parts[0].size=1.5 is not valid; it must be a whole number"),
        ({"parts": [{"size": -1}]}, "size=-1 is not valid; it must be at least 0"),
        ({"parts": [{}]}, "parts[0].size is missing"),
        (
            {"parts": [{"sise": 1}]},
            "unknown field of parts[0] 'sise'; choose 'shape' or 'size' (did you mean 'size'?)",
        ),
        ({"words": "x"}, "words='x' is not valid; it must be a list"),
        ({"by_name": {"y": 3}}, "by_name.y=3 is not valid; it must be a table"),
    ],
)
def test_what_is_wrong_is_a_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        load({**GOOD, **change}, Whole, "whole")
    assert str(refused.value) == said


def test_what_is_no_table_is_told_by_its_name() -> None:
    with pytest.raises(BadInput, match="whole=3 is not valid; it must be a table"):
        load(3, Whole, "whole")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*GOOD, "size", "x"]), inner, max_size=3)
    ),
)


@given(ANYTHING)
def test_anything_is_loaded_or_explained(data: object) -> None:
    with contextlib.suppress(BadInput):
        assert isinstance(load(data, Whole, "whole"), Whole)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml cannot be read"):
        read_toml(tmp_path / "none.toml")
