"""Pairs of classes that share an observation, and where common words lead from them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from clew.machines.certificates.claims import Pair
from clew.machines.deciding.bisimulation import Classes
from clew.machines.model.belief import grouped

ZERO = Fraction(0)
Arrow = tuple[int, Pair]
"""A next observation that both can show, and the pair it leads to."""
Mask = NDArray[np.bool_]
"""Which pairs, by number."""
Numbers = NDArray[np.integer]


def pair_of(first: int, second: int) -> tuple[Pair, int]:
    """A pair in order, and the sign that the gap takes by it."""
    return ((first, second), 1) if first <= second else ((second, first), -1)


class PairGraph:
    """The graph on which gaps are decided. Actions that do the same everywhere count once.

    There may be millions of pairs. They are numbered, so that what holds of each is an array, and
    edges are worked out from those of the classes when asked for. An action is meant by its place
    in `actions`.
    """

    def __init__(self, quotient: Classes, discount: Fraction):
        self.quotient, self.discount = quotient, discount
        self.actions = _different_actions(quotient)
        self._number_pairs()
        self._by_class()
        self._into: list[dict[tuple[int, int], list[int]]] = [{} for _ in quotient.members]
        for c, rows in enumerate(quotient.after):
            for place, action in enumerate(self.actions) if rows else ():
                for o, d in rows[action].items():
                    self._into[d].setdefault((place, o), []).append(c)

    def _number_pairs(self) -> None:
        """Observation by observation; the number of a pair is _row[smaller] + _column[larger]."""
        row, column = (np.zeros(len(self.quotient.members), np.int32) for _ in range(2))
        pairs, count = [], 0
        for some in grouped(self.quotient.observation):
            place = np.arange(len(some))
            column[some] = place
            row[some] = count + place * len(some) - place * (place + 1) // 2 - place - 1
            pairs.append(np.array(some, np.int32)[np.array(np.triu_indices(len(some), 1))])
            count += len(some) * (len(some) - 1) // 2
        self.first, self.second = np.concatenate(pairs, 1)
        """[pair]: the smaller and the larger class."""
        self._row, self._column = row, column
        self._rows, self._columns = row.tolist(), column.tolist()

    def _by_class(self) -> None:
        """Numbers of laws and of mean rewards, and what follows, as arrays over classes."""
        law, mean, after = self.quotient.law, self.quotient.mean, self.quotient.after
        means: dict[Fraction, int] = {}
        self._law, self._mean, self._after = [], [], []
        for action in self.actions:
            # a frontier has no laws: it shares none with anything
            self._law.append(np.array([x[action] if x else -1 - c for c, x in enumerate(law)]))
            numbers = (means.setdefault(x[action], len(means)) if x else -1 for x in mean)
            self._mean.append(np.fromiter(numbers, np.int32, len(mean)))
            rows = [[*x[action].values()] if x else [] for x in after]
            padded = np.full((max(map(len, rows)), len(rows)), -1, np.int32)
            for c, some in enumerate(rows):
                padded[: len(some), c] = some
            self._after.append(padded)

    def __len__(self) -> int:
        return len(self.first)

    def __contains__(self, pair: Pair) -> bool:
        first, second = pair
        seen = self.quotient.observation
        return first < second and seen[first] == seen[second]

    def pair(self, number: int) -> Pair:
        """The classes of a pair."""
        return int(self.first[number]), int(self.second[number])

    def number(self, pair: Pair) -> int:
        """The number of a pair."""
        return self._rows[pair[0]] + self._columns[pair[1]]

    def binding(self, place: int) -> Mask:
        """The pairs with one law of what is seen next."""
        return self._law[place][self.first] == self._law[place][self.second]

    def paid_differently(self, place: int, some: Numbers) -> Mask:
        """Of some pairs, whether their expected rewards differ."""
        mean = self._mean[place]
        return mean[self.first[some]] != mean[self.second[some]]

    def ahead(self, place: int, some: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Of some pairs that an action binds: those that lead to a pair, and that pair.

        One next observation after the other: with one law, both classes show the same ones.
        """
        for after in self._after[place]:
            one, two = after[self.first[some]], after[self.second[some]]
            some, one, two = (each[one >= 0] for each in (some, one, two))
            apart = one != two
            low, high = np.minimum(one, two)[apart], np.maximum(one, two)[apart]
            yield some[apart], self._row[low] + self._column[high]

    def before(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Every (pair, action, o') that leads to a pair."""
        first, second = (self._into[c] for c in self.pair(number))
        seen, rows, columns = self.quotient.observation, self._rows, self._columns
        for way, some in first.items():
            for d in second.get(way, ()):
                for c in some:
                    if seen[c] == seen[d] and c != d:
                        yield (rows[c] + columns[d] if c < d else rows[d] + columns[c]), *way

    def after(self, number: int, place: int) -> Iterator[int]:
        """The pairs that a common next observation leads to."""
        for _, pair in arrows(self.quotient, self.pair(number), self.actions[place]):
            yield self.number(pair)

    def constant(self, number: int, place: int) -> Fraction:
        """Of the equation of a binding action, Δ = constant + γ Σ coefficient · Δ(successor)."""
        mine, theirs = (self.quotient.mean[c][self.actions[place]] for c in self.pair(number))
        return ZERO if mine == theirs else theirs - mine

    def terms(self, number: int, place: int) -> Iterator[tuple[int, Fraction]]:
        """The successors and coefficients of that equation; one may come more than once."""
        (c, d), action, after = self.pair(number), self.actions[place], self.quotient.after
        chances = self.quotient.chances[self.quotient.law[c][action]]
        for o, successor in arrows(self.quotient, (c, d), action):
            # successors are stored in order; the sign says whether that turned them around
            turned = after[c][action][o] != successor[0]
            yield self.number(successor), -chances[o] if turned else chances[o]


def arrows(quotient: Classes, pair: Pair, action: int) -> Iterator[Arrow]:
    """The pairs of different classes that a common next observation leads to."""
    first, second = (quotient.after[c][action] for c in pair)
    for o, c in first.items():
        d = second.get(o)
        if d is not None and c != d:
            yield o, ((c, d) if c < d else (d, c))


def _different_actions(quotient: Classes) -> list[int]:
    known = [c for c, law in enumerate(quotient.law) if law]
    columns: dict[tuple, int] = {}
    for action in range(max(map(len, quotient.law))):
        does = ((quotient.law[c], quotient.mean[c], quotient.after[c]) for c in known)
        column = tuple(
            (law[action], mean[action], *after[action].values()) for law, mean, after in does
        )
        columns.setdefault(column, action)
    return list(columns.values())
