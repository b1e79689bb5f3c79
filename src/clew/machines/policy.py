"""The best that any policy can do, and whether greed with perfect memory does it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.belief import Filter, Row
from clew.machines.graphs import components
from clew.machines.linear import fixed_point
from clew.machines.mdp import Choice, policy_iteration

LARGE = 300
"""Equations that go around in one circle, beyond which a return is not worth its arithmetic."""


@dataclass(frozen=True)
class Optimal:
    """V* over cells, the optimal actions of each, and J*."""

    beliefs: Filter
    values: tuple[Fraction, ...]
    actions: tuple[tuple[int, ...], ...]
    value: Fraction


@dataclass(frozen=True)
class Ranking:
    """Whether greed on one-step rewards goes wrong although it remembers everything."""

    misranked: bool
    cell: int | None
    """Where it does."""
    greedy_value: Fraction | None
    """J of greed with ties broken uniformly; None if too many equations go around in circles."""


def optimal(beliefs: Filter) -> Optimal:
    """Policy iteration on the cells; the filter must be finite."""
    choices = [
        [
            Choice(
                row.mean,
                tuple((after, p) for (_, p), after in zip(row.law, row.after, strict=True)),
            )
            for row in rows
        ]
        for rows in beliefs.rows
    ]
    best = policy_iteration(choices, beliefs.pomdp.discount)
    value = sum((p * best.values[cell] for cell, p in beliefs.start), Fraction(0))
    return Optimal(beliefs, best.values, best.actions, value)


def ranking(best: Optimal) -> Ranking:
    """Whether one-step rewards rank actions right, with perfect memory (the belief filter).

    Greed is optimal iff no cell that it comes to ranks a suboptimal action first. So this is
    decided without greed's value, which is computed only where its equations are few.
    """
    beliefs = best.beliefs
    first = [_first(rows) for rows in beliefs.rows]
    found = {cell for cell, _ in beliefs.start}
    frontier = list(found)
    wrong = None
    while frontier:
        cell = frontier.pop()
        if wrong is None and not set(first[cell]) <= set(best.actions[cell]):
            wrong = cell
        for action in first[cell]:
            new = set(beliefs.rows[cell][action].after) - found
            found |= new
            frontier += new
    return Ranking(wrong is not None, wrong, _value_of(beliefs, first))


def _first(rows: tuple[Row, ...]) -> tuple[int, ...]:
    top = max(row.mean for row in rows)
    return tuple(action for action, row in enumerate(rows) if row.mean == top)


def _value_of(beliefs: Filter, actions: list[tuple[int, ...]]) -> Fraction | None:
    """The return of playing any of the listed actions; None if it takes too much arithmetic."""
    constants, terms = [], []
    for rows, some in zip(beliefs.rows, actions, strict=True):
        share = Fraction(1, len(some))
        row: dict[int, Fraction] = defaultdict(Fraction)
        for action in some:
            for (_, p), after in zip(rows[action].law, rows[action].after, strict=True):
                row[after] += beliefs.pomdp.discount * share * p
        terms.append(row)
        constants.append(share * sum((rows[action].mean for action in some), Fraction(0)))
    if max(map(len, components([list(row) for row in terms]))) > LARGE:
        return None
    values = fixed_point(constants, terms)
    return sum((p * values[cell] for cell, p in beliefs.start), Fraction(0))
