"""A configuration's text and hash are its content."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.store import canonical, differences, digest
from clew.store.canonical import DEPTH
from clew.validate import BadInput
from tests.store.things import PLAIN, TEXT, config


def exactly(a: Any, b: Any) -> bool:
    """Equal, types and the sign of zero included."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(exactly(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(exactly, a, b))
    if type(a) is not type(b) or a != b:
        return False
    return not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b)


@given(PLAIN)
def test_nothing_is_lost(value: Any) -> None:
    assert exactly(json.loads(canonical(value)), value)


@given(st.dictionaries(TEXT, PLAIN, min_size=2), st.randoms())
def test_the_order_of_keys_does_not_matter(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert canonical(dict(items)) == canonical(value)
    assert digest(dict(items)) == digest(value)


@given(PLAIN, PLAIN)
def test_different_values_have_different_texts_and_a_stated_difference(a: Any, b: Any) -> None:
    assume(not exactly(a, b))
    assert canonical(a) != canonical(b)
    assert differences(a, b)


@given(PLAIN)
def test_equal_values_have_no_differences(value: Any) -> None:
    assert differences(value, json.loads(canonical(value))) == []


def test_tuples_are_lists_and_one_is_not_one_point_zero() -> None:
    assert canonical({"a": (1, 2)}) == '{"a":[1,2]}'
    assert len({canonical(v) for v in (1, 1.0, True, "1", [1])}) == 5
    assert canonical(0.0) != canonical(-0.0)
    assert canonical(0.1 + 0.2) == "0.30000000000000004"


def test_a_difference_names_the_field() -> None:
    other = config(settings={"gamma": 0.99, "learning_rate": 1e-3, "steps": 512})
    assert differences(config(), other) == ["settings.gamma is 0.995 and 0.99"]
    assert differences({"a": [1, 2]}, {"a": [1, 3], "b": 0}) == [
        "a[1] is 2 and 3",
        "only one has b",
    ]


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 2**64, np.float32(1), np.float64(1), np.int64(1), b"x", {1},
     object(), Colour.RED, np.zeros(1), "\ud800", 1j],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_would_not_come_back_is_refused_by_the_name_of_its_field(value: Any) -> None:
    with pytest.raises(BadInput, match=r"configuration\.a\[1\]"):
        canonical({"a": [0, value]})


@pytest.mark.parametrize("key", [1, None, "\udfff", ("a",)])
def test_keys_are_text(key: Any) -> None:
    with pytest.raises(BadInput, match="configuration"):
        canonical({key: 1})


def test_endless_values_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BadInput, match=f"more than {DEPTH} deep"):
        canonical(endless)


def test_the_hash_is_the_same_forever() -> None:
    """Stores outlive versions: `sha256sum` of this text is the name of this run."""
    text = (
        '{"architecture":"GRU","bonus":"e3b","environment":"TinyReproduce","reward":"dense",'
        '"seed":3,"settings":{"gamma":0.995,"learning_rate":0.001,"steps":512}}'
    )
    assert canonical(config(3)) == text
    assert digest(config(3))[:32] == "0d01507409818266faa876958172e6fb"
