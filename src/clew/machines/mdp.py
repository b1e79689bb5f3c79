"""Policy iteration in exact fractions, on any finite discounted MDP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from clew.machines.linear import fixed_point


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
    policy = [max(range(len(some)), key=lambda a: some[a].reward) for some in choices]
    while True:
        values = fixed_point(
            [some[a].reward for some, a in zip(choices, policy, strict=True)],
            [
                {j: discount * p for j, p in _merged(some[a].after).items()}
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


def one_step(choice: Choice, values: Sequence[Fraction], discount: Fraction) -> Fraction:
    """Q: the reward and the discounted value after it."""
    return choice.reward + discount * sum((p * values[j] for j, p in choice.after), Fraction(0))


def _merged(after: tuple[tuple[int, Fraction], ...]) -> dict[int, Fraction]:
    total: dict[int, Fraction] = {}
    for j, p in after:
        total[j] = total.get(j, Fraction(0)) + p
    return total
