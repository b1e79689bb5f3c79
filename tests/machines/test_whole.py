"""Arithmetic in whole numbers, against the same in fractions."""

from __future__ import annotations

import gc
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.machines import Pomdp, gallery
from clew.machines.certificates import loops
from clew.machines.certificates.claims import Unencodable
from clew.machines.certificates.filters import (
    Echelon,
    WholeSteps,
    first_filters,
    joint_law,
    mean_reward,
    next_filters,
    normalised,
    shortest,
)
from clew.machines.deciding.classify import classify
from clew.machines.exact.garbage import uncollected
from clew.machines.exact.linear import Span, solve
from clew.machines.model.belief import close
from tests.machines.tiny import tiny_pomdps

vectors = st.lists(st.dictionaries(st.integers(0, 4), st.integers(-3, 3), max_size=4), max_size=6)


@given(tiny_pomdps(max_states=5, max_actions=2, ends=True))
def test_rows_of_a_filter_and_of_a_check_are_those_of_fractions(pomdp: Pomdp) -> None:
    beliefs, steps = close(pomdp, 30), WholeSteps(pomdp)
    for cell, rows in zip(beliefs.cells, beliefs.rows, strict=False):
        whole, weights = dict(cell.posterior), normalised(dict(cell.posterior))
        for action, row in enumerate(rows):
            joint = joint_law(pomdp, weights, action)
            assert row.joint == tuple((*kind, p) for kind, p in sorted(joint.items()))
            assert steps.joint_law(whole, action) == joint
            assert row.mean == mean_reward(pomdp, weights, action)
            after = next_filters(pomdp, weights, action)
            assert row.law == tuple((o, sum(after[o].values())) for o in sorted(after))
            filters = steps.next_filters(whole, action)
            assert {o: shortest(w) for o, w in filters.items()} == {
                o: shortest(w) for o, w in after.items()
            }
            mass = steps.scale * sum(whole.values())
            assert {o: Fraction(sum(w.values()), mass) for o, w in filters.items()} == dict(row.law)
            assert sum(p for _, p in (*row.law, *row.last)) == 1


@given(vectors, st.dictionaries(st.integers(0, 4), st.fractions(-2, 2, max_denominator=4)))
def test_a_span_has_what_eliminations_leave_nothing_of(
    some: list[dict[int, int]], vector: dict[int, Fraction]
) -> None:
    mine, theirs = Echelon(), Span()
    for each in some:
        mine.add(each)
        theirs.add({j: v for j, v in each.items() if v})
    assert len(mine.rows) == len(theirs)
    whole = shortest(vector) if any(vector.values()) else {}
    assert (not mine.rest(vector)) == ({j: v for j, v in whole.items() if v} in theirs)


def test_a_loop_is_judged_by_the_factors_of_its_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    """x_{n+d} = Σ factors_i x_{n+i}, for the filters themselves and not for a multiple."""
    found: list[list[Fraction]] = []
    monkeypatch.setattr(loops, "_check_independent", found.append)
    verdict = classify(gallery.make("Tiger")).verdict
    assert isinstance(verdict, Unencodable)
    found.clear()
    loop = verdict.loop
    basis = loops.check_loop(loop)
    last = loops._pushed(loop.pomdp, basis[-1], loop.word)
    (factors,) = found
    states = {s for vector in basis for s in vector}
    assert {
        s: sum(f * v.get(s, 0) for f, v in zip(factors, basis, strict=True)) for s in states
    } == {s: last.get(s, 0) for s in states}
    assert first_filters(loop.pomdp)


@given(
    st.lists(st.lists(st.fractions(-3, 3, max_denominator=5), min_size=4, max_size=4), min_size=1),
    st.lists(st.fractions(-3, 3, max_denominator=5), min_size=4, max_size=4),
    st.integers(1, 2000),
)
def test_long_numbers_on_the_right(
    left: list[list[Fraction]], values: list[Fraction], bits: int
) -> None:
    """Whatever prime they are lifted by."""
    assume(any(map(any, left)))
    long = [value * Fraction(2**bits + 1, 3**bits) for value in values]
    rows = [{j: v for j, v in enumerate(row) if v} for row in left]
    right = [sum((v * long[j] for j, v in row.items()), Fraction(0)) for row in rows]
    solution = solve(rows, right)
    assert solution is not None
    for row, value in zip(rows, right, strict=True):
        assert sum(v * solution.get(j, 0) for j, v in row.items()) == value


def test_what_was_put_off_goes_on_afterwards() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError):
        uncollected()(dict[int, int]().__getitem__)(0)
    assert gc.isenabled()
