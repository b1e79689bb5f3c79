"""Pairs of classes that share an observation, and where common words lead from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from clew.machines.certificates.claims import Pair
from clew.machines.model.belief import Filter, grouped

ZERO = Fraction(0)
Arrow = tuple[int, Pair]
"""A next observation that both can show, and the pair it leads to."""


def pair_of(first: int, second: int) -> tuple[Pair, int]:
    """A pair in order, and the sign that the gap takes by it."""
    return ((first, second), 1) if first <= second else ((second, first), -1)


class PairGraph:
    """The graph on which gaps are decided. Actions that do the same everywhere count once.

    There may be millions of pairs: edges are worked out from those of the classes when asked for.
    """

    def __init__(self, quotient: Classes, discount: Fraction):
        self.quotient, self.discount = quotient, discount
        self.actions = _different_actions(quotient)
        self._into: list[dict[tuple[int, int], list[int]]] = [{} for _ in quotient.members]
        for c, rows in enumerate(quotient.after):
            for action in self.actions if rows else ():
                for o, d in rows[action].items():
                    self._into[d].setdefault((action, o), []).append(c)

    def pairs(self) -> Iterator[Pair]:
        """All of them, once each."""
        for some in grouped(self.quotient.observation):
            yield from combinations(some, 2)

    def binding(self, pair: Pair) -> list[int]:
        """The actions with one law of what is seen next."""
        one, two = (self.quotient.law[c] for c in pair)
        return [a for a in self.actions if one[a] == two[a]] if one and two else []

    def after(self, pair: Pair, action: int) -> Iterator[Arrow]:
        """Where a common next observation leads, if to different classes."""
        return arrows(self.quotient, pair, action)

    def before(self, pair: Pair) -> Iterator[tuple[Pair, int, int]]:
        """Every (pair, action, o') that leads to a pair."""
        first, second = (self._into[c] for c in pair)
        seen = self.quotient.observation
        for way, some in first.items():
            for d in second.get(way, ()):
                for c in some:
                    if seen[c] == seen[d] and c != d:
                        yield ((c, d) if c < d else (d, c)), *way

    def constant(self, pair: Pair, action: int) -> Fraction:
        """Of the equation of a binding action, Δ = constant + γ Σ coefficient · Δ(successor)."""
        mine, theirs = (self.quotient.mean[c][action] for c in pair)
        return ZERO if mine == theirs else theirs - mine

    def terms(self, pair: Pair, action: int) -> Iterator[tuple[Pair, Fraction]]:
        """The successors and coefficients of that equation; one may come more than once."""
        c, _ = pair
        chances, after = self.quotient.chances[self.quotient.law[c][action]], self.quotient.after
        for o, successor in self.after(pair, action):
            # successors are stored in order; the sign says whether that turned them around
            yield successor, chances[o] if after[c][action][o] == successor[0] else -chances[o]


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


@dataclass(frozen=True)
class Classes:
    """Cells that no future tells apart: the coarsest bisimulation of the belief filter.

    Two cells of one class have the same laws of observations and the same expected rewards after
    every word of actions. Pairs are decided on classes, because there are fewer of them. A cell on
    the frontier of a filter that is not finite has no laws, and is a class of its own.
    """

    of: tuple[int, ...]
    """The class of each cell."""
    members: tuple[tuple[int, ...], ...]
    observation: tuple[int, ...]
    law: tuple[tuple[int, ...], ...]
    """[class][action]: a number for Pr(o', over | class, action); nothing for the frontier."""
    mean: tuple[tuple[Fraction, ...], ...]
    after: tuple[tuple[dict[int, int], ...], ...]
    """[class][action]: o' → class."""
    chances: tuple[dict[int, Fraction], ...]
    """[law]: o' → probability that it is shown and the episode goes on."""


def classes(beliefs: Filter) -> Classes:
    """Refine by what comes next until nothing changes."""
    numbers: dict[tuple, int] = {}
    law = [
        tuple(numbers.setdefault((row.law, row.last), len(numbers)) for row in rows)
        for rows in beliefs.rows
    ]
    mean = [tuple(row.mean for row in rows) for rows in beliefs.rows]
    frontier = [("frontier", i) for i in range(len(beliefs.rows), len(beliefs.cells))]
    next_steps = [(beliefs.cells[i].observation, *law[i], *mean[i]) for i in range(len(law))]
    now = _numbered([*next_steps, *frontier])
    while True:
        next_steps = [
            (now[i], *(tuple(now[j] for j in row.after) for row in rows))
            for i, rows in enumerate(beliefs.rows)
        ]
        finer = _numbered([*next_steps, *frontier])
        if max(finer) == max(now):
            break
        now = finer
    members = grouped(now)
    lead = [some[0] for some in members]
    rows = [beliefs.rows[i] if i < len(law) else () for i in lead]
    return Classes(
        of=tuple(now),
        members=tuple(map(tuple, members)),
        observation=tuple(beliefs.cells[i].observation for i in lead),
        law=tuple(law[i] if i < len(law) else () for i in lead),
        mean=tuple(mean[i] if i < len(law) else () for i in lead),
        after=tuple(tuple({o: now[j] for o, _, j in row.ways()} for row in some) for some in rows),
        chances=tuple(dict(law) for law, _ in numbers),
    )


def _numbered(signatures: Iterable[Hashable]) -> list[int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(signature, len(number)) for signature in signatures]
