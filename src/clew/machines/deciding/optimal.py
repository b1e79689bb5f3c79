"""The best that any policy can do, and whether a greedy one with perfect memory does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from clew.machines.certificates.claims import Optimal
from clew.machines.exact.graphs import components, reached
from clew.machines.exact.linear import fixed_point
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import BeliefRow, Filter

SWEEPS, CLOSE = 5000, 1e-9
"""Of value iteration in floating-point numbers, at most; and the change at which it stops."""
LARGE = 300
"""Equations of one strongly connected component, beyond which a return is not computed."""


@dataclass(frozen=True)
class Ranking:
    """Whether the policy that is greedy for one-step rewards errs, even with perfect memory."""

    misranked: bool
    cell: int | None
    """The first cell where it does."""
    greedy_value: Fraction | None
    """Its return, ties broken uniformly; None if it would take too much arithmetic."""


def optimal(beliefs: Filter) -> Optimal:
    """Policy iteration on the cells; the filter must be finite."""
    choices = [
        [Choice(row.mean, tuple((after, p) for _, p, after in row.ways())) for row in rows]
        for rows in beliefs.rows
    ]
    best = policy_iteration(choices, beliefs.pomdp.discount)
    value = sum((p * best.values[cell] for cell, p in beliefs.start), Fraction(0))
    return Optimal(beliefs, best.values, best.actions, value)


def ranking(best: Optimal) -> Ranking:
    """Whether one-step rewards rank actions right, with perfect memory (the belief filter).

    The greedy policy is optimal iff no cell that it comes to ranks a suboptimal action first. So
    its return is not needed, and is computed only where its equations are few.
    """
    beliefs = best.beliefs
    first = [_first(rows) for rows in beliefs.rows]
    wrong = min(
        (
            cell
            for cell in played(beliefs, first)
            if not set(first[cell]) <= set(best.actions[cell])
        ),
        default=None,
    )
    return Ranking(wrong is not None, wrong, _value_of(beliefs, first))


def played(beliefs: Filter, actions: Sequence[tuple[int, ...]]) -> set[int]:
    """The cells that an episode can come to where only these actions are taken."""
    begins = (cell for cell, _ in beliefs.start)
    rows = beliefs.rows
    return reached(begins, lambda c: (after for a in actions[c] for after in rows[c][a].after))


def _first(rows: tuple[BeliefRow, ...]) -> tuple[int, ...]:
    top = max(row.mean for row in rows)
    return tuple(action for action, row in enumerate(rows) if row.mean == top)


def _value_of(beliefs: Filter, actions: list[tuple[int, ...]]) -> Fraction | None:
    """The return of playing any of the listed actions; None if it takes too much arithmetic."""
    constants, terms = [], []
    for rows, some in zip(beliefs.rows, actions, strict=True):
        ways = summed((after, p) for action in some for _, p, after in rows[action].ways())
        share = beliefs.pomdp.discount / len(some)
        terms.append({after: share * p for after, p in ways.items()})
        paid = sum((mean for action in some if (mean := rows[action].mean)), Fraction(0))
        constants.append(paid / len(some))
    if max(map(len, components([list(row) for row in terms]))) > LARGE:
        return None
    values = fixed_point(constants, terms)
    return sum((p * values[cell] for cell, p in beliefs.start), Fraction(0))


class Choice(NamedTuple):
    """One action: its expected reward, and where it leads."""

    reward: Fraction
    after: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True)
class Optimum:
    """V* and, for each state, every action that attains it."""

    values: tuple[Fraction, ...]
    actions: tuple[tuple[int, ...], ...]


def policy_iteration(choices: Sequence[Sequence[Choice]], discount: Fraction) -> Optimum:
    """Improve until no action is better; changes only where something is gained."""
    policy = _nearly_best(choices, float(discount))
    while True:
        values = fixed_point(
            [some[a].reward for some, a in zip(choices, policy, strict=True)],
            [
                {j: discount * p for j, p in summed(some[a].after).items()}
                for some, a in zip(choices, policy, strict=True)
            ],
        )
        worth = [[one_step(choice, values, discount) for choice in some] for some in choices]
        better = [
            policy[i] if max(row) == values[i] else row.index(max(row))
            for i, row in enumerate(worth)
        ]
        if better == policy:
            best = tuple(
                tuple(a for a, q in enumerate(row) if q == values[i]) for i, row in enumerate(worth)
            )
            return Optimum(tuple(values), best)
        policy = better


def _nearly_best(choices: Sequence[Sequence[Choice]], discount: float) -> list[int]:
    """What value iteration in floating-point numbers finds: a policy to begin with."""
    rows = [choice for some in choices for choice in some]
    first = np.cumsum([0, *map(len, choices)])[:-1]
    reward = np.array([float(row.reward) for row in rows])
    ways = [(i, j, float(p)) for i, row in enumerate(rows) for j, p in row.after]
    row, after, chance = (np.array(column) for column in zip(*ways or [(0, 0, 0.0)], strict=True))
    worth, values, close = reward, np.zeros(len(choices)), CLOSE * np.abs(reward).max()
    for _ in range(SWEEPS):
        worth = reward + discount * np.bincount(row, chance * values[after], len(rows))
        before, values = values, np.maximum.reduceat(worth, first)
        if np.abs(values - before).max() <= close:
            break
    policy, state = [0] * len(choices), np.repeat(np.arange(len(choices)), [*map(len, choices)])
    for i in reversed(np.flatnonzero(worth >= values[state] - close)):
        policy[state[i]] = int(i - first[state[i]])
    return policy


def one_step(choice: Choice, values: Sequence[Fraction], discount: Fraction) -> Fraction:
    """Q: the reward and the discounted value after it."""
    after = sum((p * value for j, p in choice.after if (value := values[j])), Fraction(0))
    return choice.reward + discount * after if after else choice.reward
