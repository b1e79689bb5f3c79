"""Pairs of classes that share an observation, and where common words lead from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from clew.machines.classes import Classes

Pair = tuple[int, int]
"""Two classes with the same observation, the smaller number first."""
Arrow = tuple[int, Pair]
"""A next observation that both can show, and the pair it leads to."""


def pair_of(first: int, second: int) -> tuple[Pair, int]:
    """A pair in order, and the sign that the gap takes by it."""
    return ((first, second), 1) if first <= second else ((second, first), -1)


class PairGraph:
    """The graph on which gaps are decided. Actions that do the same everywhere count once."""

    def __init__(self, quotient: Classes, discount: Fraction):
        self.quotient, self.discount = quotient, discount
        self.actions = _different_actions(quotient)
        self.pairs = list(_pairs(quotient))
        self.binding: dict[Pair, list[int]] = {}
        self.after: dict[Pair, dict[int, tuple[Arrow, ...]]] = {}
        self.before: dict[Pair, list[tuple[Pair, int, int]]] = defaultdict(list)
        for pair in self.pairs:
            self._look_at(pair)

    def demand(self, pair: Pair, action: int) -> tuple[Fraction, dict[Pair, Fraction]]:
        """The equation of a binding action: Δ = constant + γ Σ coefficient · Δ(successor)."""
        c, d = pair
        quotient = self.quotient
        law = quotient.chances[quotient.law[c][action]]
        terms: dict[Pair, Fraction] = {}
        for o, (first, second) in self.after[pair][action]:
            # successors are stored in order; the sign says whether that turned them around
            chance = law[o] if quotient.after[c][action][o] == first else -law[o]
            after = (first, second)
            terms[after] = terms[after] + chance if after in terms else chance
        return quotient.mean[d][action] - quotient.mean[c][action], terms

    def _look_at(self, pair: Pair) -> None:
        c, d = pair
        laws = self.quotient.law
        known = bool(laws[c] and laws[d])
        self.binding[pair] = [a for a in self.actions if known and laws[c][a] == laws[d][a]]
        self.after[pair] = {a: tuple(arrows(self.quotient, pair, a)) for a in self.actions if known}
        for action, ways in self.after[pair].items():
            for o, after in ways:
                self.before[after].append((pair, action, o))


def arrows(quotient: Classes, pair: Pair, action: int) -> Iterator[Arrow]:
    """The pairs of different classes that a common next observation leads to."""
    first, second = (quotient.after[c][action] for c in pair)
    for o, c in first.items():
        d = second.get(o)
        if d is not None and c != d:
            yield o, ((c, d) if c < d else (d, c))


def _pairs(quotient: Classes) -> Iterator[Pair]:
    together: dict[int, list[int]] = defaultdict(list)
    for number, observation in enumerate(quotient.observation):
        together[observation].append(number)
    for some in together.values():
        for i, c in enumerate(some):
            for d in some[i + 1 :]:
                yield c, d


def _different_actions(quotient: Classes) -> list[int]:
    known = [c for c, law in enumerate(quotient.law) if law]
    columns: dict[tuple, int] = {}
    for action in range(max(map(len, quotient.law))):
        column = tuple(
            (
                quotient.law[c][action],
                quotient.mean[c][action],
                tuple(quotient.after[c][action].values()),
            )
            for c in known
        )
        columns.setdefault(column, action)
    return list(columns.values())
