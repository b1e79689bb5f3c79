"""Checks that everything else leans on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.validate import BadInput, divides, finite_number


@pytest.mark.parametrize("value", [1.5, -3, np.float32(2), np.int64(7)])
def test_numbers_are_numbers(value: object) -> None:
    assert finite_number("x", value) == float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [True, np.True_, float("nan"), float("inf"), 10**400, "1", None, 1j],
    ids=lambda value: str(value)[:8],
)
def test_other_things_are_not(value: object) -> None:
    with pytest.raises(BadInput, match=r"x=.* must be a finite number"):
        finite_number("x", value)


@given(st.integers(1, 500), st.integers(1, 5000))
def test_divisors_are_listed_all(value: int, whole: int) -> None:
    assume(whole % value)
    with pytest.raises(BadInput) as error:
        divides("value", value, "whole", whole)
    named = str(error.value).split("choose ")[1].replace(" or ", ", ").split(", ")
    assert [int(n) for n in named] == [n for n in range(1, whole + 1) if whole % n == 0]


@given(st.integers(1, 500), st.integers(1, 5000))
def test_divisors_are_accepted(value: int, times: int) -> None:
    divides("value", value, "whole", value * times)


def test_a_large_whole_does_not_hang() -> None:
    with pytest.raises(BadInput, match="must divide"):
        divides("value", 7, "whole", 10**12)
