"""Exact linear algebra against its definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.machines.exact import modular
from clew.machines.exact.linear import Span, components, fixed_point, solve

small = st.fractions(-3, 3, max_denominator=5)


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[dict[int, Fraction]], list[Fraction]]:
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rows = [
        {j: v for j in range(n) if (v := draw(small)) and draw(st.booleans())} for _ in range(m)
    ]
    return rows, [draw(small) for _ in range(m)]


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[Fraction], list[dict[int, Fraction]]]:
    n = draw(st.integers(1, 12))
    gamma = draw(st.sampled_from((Fraction(1, 2), Fraction(99, 100))))
    terms = []
    for _ in range(n):
        targets = draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=3))
        terms.append({j: gamma / len(targets) for j in targets})
    return [draw(small) for _ in range(n)], terms


@given(systems(), st.sampled_from((0, 1, 30)))
def test_a_solution_solves_and_a_refusal_is_right(
    system: tuple[list[dict[int, Fraction]], list[Fraction]], long: int
) -> None:
    """Whether all of it is eliminated as a dense matrix, or a part, or nothing."""
    rows, right = system
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modular, "LONG", long)
        solution = solve(rows, right)
    if solution is not None:
        for row, value in zip(rows, right, strict=True):
            assert sum(v * solution.get(j, 0) for j, v in row.items()) == value
    else:  # the right side lies outside of the span of the columns
        columns: dict[int, dict[int, int]] = {}
        scale = 60**2
        for i, row in enumerate(rows):
            for j, v in row.items():
                columns.setdefault(j, {})[i] = int(v * scale)
        assert {i: int(v * scale) for i, v in enumerate(right) if v} not in Span(columns.values())


def test_a_large_system_with_many_solutions() -> None:
    rows = [{i: 2, (i + 1) % 90: 3, 90 + i % 7: i + 1} for i in range(90)]
    solution = solve(rows, [5 + i % 11 for i in range(90)])
    assert solution is not None
    for i, row in enumerate(rows):
        assert sum(v * solution.get(j, 0) for j, v in row.items()) == 5 + i % 11
    assert solve([*rows, rows[0]], [5 + i % 11 for i in range(90)] + [4]) is None


@given(chains())
def test_fixed_points(chain: tuple[list[Fraction], list[dict[int, Fraction]]]) -> None:
    constants, terms = chain
    x = fixed_point(constants, terms)
    for i, row in enumerate(terms):
        assert x[i] == constants[i] + sum(k * x[j] for j, k in row.items())


def test_a_large_circle_is_lifted() -> None:
    n = 120
    terms = [{(i + 1) % n: Fraction(1, 3), (7 * i) % n: Fraction(1, 2)} for i in range(n)]
    constants = [Fraction(i % 5) for i in range(n)]
    x = fixed_point(constants, terms)
    assert all(
        x[i] == constants[i] + sum(k * x[j] for j, k in row.items()) for i, row in enumerate(terms)
    )


def test_a_singular_system_is_not_answered() -> None:
    one = Fraction(1)
    with pytest.raises(ArithmeticError):
        fixed_point([one, one], [{0: one * 2, 1: one}, {0: one, 1: one * 2}])


@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), max_size=8))
def test_a_span_knows_its_dimension(vectors: list[list[int]]) -> None:
    span = Span()
    grown = sum(span.add({i: v for i, v in enumerate(vector) if v}) for vector in vectors)
    assert grown == len(span) <= 4
    for vector in vectors:
        assert {i: v for i, v in enumerate(vector) if v} in span
    mixed = [sum(column) for column in zip(*vectors, strict=True)] if vectors else []
    assert {i: v for i, v in enumerate(mixed) if v} in span


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_components_are_strongly_connected_and_in_order(graph: list[list[int]]) -> None:
    reach = [{i} for i in range(8)]
    for _ in range(8):
        for i, targets in enumerate(graph):
            for j in targets:
                reach[i] |= reach[j]
    found = components(graph)
    place = {i: k for k, component in enumerate(found) for i in component}
    assert sorted(place) == list(range(8))
    for i in range(8):
        for j in range(8):
            assert (place[i] == place[j]) == (j in reach[i] and i in reach[j])
            if j in reach[i]:
                assert place[j] <= place[i]
