"""Decimals and the fractions they were meant to be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clew.machines.formats.numbers import (
    CERTAIN,
    decimal,
    distribution,
    recognisable,
    single,
    written,
)
from clew.machines.formats.text import ParseError, Place

HERE = Place(1, 1)


def read(*texts: str) -> list[str] | None:
    row = distribution({i: written(text, HERE) for i, text in enumerate(texts)}, [])
    return None if row is None else [str(row.get(i, 0)) for i in range(len(texts))]


@pytest.mark.parametrize(
    ("row", "means"),
    [
        ("0.5 0.5", "1/2 1/2"),
        ("0.34 0.66", "17/50 33/50"),  # adds up, short: as written
        ("0.667 0.333", "667/1000 333/1000"),
        ("0.33 0.33 0.33", "1/3 1/3 1/3"),  # does not add up
        ("0.66 0.33", "2/3 1/3"),  # cut, not rounded
        ("0.333333 0.333333 0.333334", "1/3 1/3 1/3"),  # the error of the row in one entry
        ("0.142857 0.857143", "1/7 6/7"),
        ("0.1 0.233333 0.666667", "1/10 7/30 2/3"),
        ("0.000949 0.999051", "949/1000000 999051/1000000"),
        ("0.25 0.75 0.000000", "1/4 3/4 0"),
        ("1e-1 9.0E-1", "1/10 9/10"),
        ("0.999999 0.000001", "999999/1000000 1/1000000"),  # nothing positive becomes zero
        ("0.333333 0.666666 0.000001", "333333/1000000 333333/500000 1/1000000"),
    ],
)
def test_rows(row: str, means: str) -> None:
    assert read(*row.split()) == means.split()


@pytest.mark.parametrize(
    "row", ["0.5 0.4", "0.3 0.3 0.3", "0.67 0.34", "1 0.00001", "0", "0.5 0.501"]
)
def test_rows_that_no_reading_makes_one(row: str) -> None:
    assert read(*row.split()) is None


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(7, 12), st.booleans())
def test_rounded_fractions_come_back(weights: list[int], decimals: int, cut: bool) -> None:
    law = {i: Fraction(w, sum(weights)) for i, w in enumerate(weights)}
    assume(all(p.denominator**3 <= 10**decimals for p in law.values()))
    shift = Fraction(1, 2 * 10**decimals) if cut else Fraction(0)
    texts = {i: decimal(p - shift if p * 10**decimals % 1 else p, decimals) for i, p in law.items()}
    assert distribution({i: written(t, HERE) for i, t in texts.items()}, []) == law


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.integers(0, 10**CERTAIN), st.integers(2, 30))
def test_a_row_is_read_within_what_it_says(part: int, n: int) -> None:
    """Whatever is read is near what is written, and adds up."""
    unit = Fraction(1, 10**CERTAIN)
    texts = [decimal(part * unit, CERTAIN), *[decimal((1 - part * unit) / n, CERTAIN)] * n]
    row = distribution({i: written(text, HERE) for i, text in enumerate(texts)}, [])
    assume(row is not None)
    assert row is not None
    assert sum(row.values()) == 1
    for i, text in enumerate(texts):
        assert abs(row.get(i, Fraction(0)) - Fraction(text)) <= (n + 1) * unit
        assert bool(row.get(i)) == bool(Fraction(text))


@given(st.fractions(max_denominator=10**6).filter(lambda x: abs(x) < 10**6))
def test_recognisable_numbers_come_back(value: Fraction) -> None:
    text = recognisable(value)
    assert text is not None
    assert single(written(text.lstrip("-"), HERE, text.startswith("-")), []) == value


def test_only_many_digits_are_taken_for_a_fraction() -> None:
    assert single(written("0.3333", HERE), []) == Fraction(3333, 10000)
    assert single(written("0.33333", HERE), []) == Fraction(1, 3)
    assert single(written("0.99999", HERE), []) == Fraction(99999, 100000)


@pytest.mark.parametrize(
    "text", ["1e61", "1e-99999999999", "9" * 61, "0." + "3" * 60, "", ".", "e5"]
)
def test_absurd_numbers_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        written(text, HERE)
