"""The belief filter: what a history of actions and observations says about the state.

Posteriors are tuples of whole numbers over a common denominator: (state, weight) pairs whose
weights have no common factor. Equal posteriors are equal tuples, and tuples hash fast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from clew.machines.exact.numbers import summed
from clew.machines.model.pomdp import Branch, Pomdp

Posterior = tuple[tuple[int, int], ...]
Kind = tuple[int, bool, Fraction]
"""(o', whether the episode is over, r)."""
LIMIT = 200_000
ZERO = Fraction(0)
BITS = 2048
"""Of a weight, at most: where numbers grow so long, the cells do not repeat."""


class BeliefCell(NamedTuple):
    """What an agent with perfect memory knows: the last observation and the posterior."""

    observation: int
    posterior: Posterior


class Shown(NamedTuple):
    """One next observation."""

    probability: Fraction
    going_on: Fraction
    """Pr(o', the episode goes on)."""
    after: int | None
    """The cell it then leads to."""


class BeliefRow(NamedTuple):
    """What an action does from a cell. Laws are interned: equal laws are one object."""

    law: tuple[tuple[int, Fraction], ...]
    """Pr(o', the episode goes on), in the order of o'."""
    last: tuple[tuple[int, Fraction], ...]
    """Pr(o', the episode is over), in the order of o'."""
    after: tuple[int, ...]
    """The cell that each o' of `law` leads to."""
    mean: Fraction
    """The expected reward."""
    joint: tuple[tuple[int, bool, Fraction, Fraction], ...]
    """Pr(o', over, r) as (o', over, r, probability): what perfection compares."""

    def ways(self) -> Iterator[tuple[int, Fraction, int]]:
        """Each next observation with which the episode goes on, its probability and its cell."""
        for (o, p), after in zip(self.law, self.after, strict=True):
            yield o, p, after

    def shown(self) -> dict[int, Shown]:
        """Every next observation, those of an episode's last step too."""
        found = {o: Shown(p, p, after) for o, p, after in self.ways()}
        for o, p in self.last:
            going_on, after = (found[o].going_on, found[o].after) if o in found else (ZERO, None)
            found[o] = Shown(going_on + p, going_on, after)
        return found


@dataclass(frozen=True)
class Filter:
    """The MDP over cells, as far as it was followed.

    If it is `finite`, every cell has its rows; else the last cells are a frontier without rows.
    """

    pomdp: Pomdp
    cells: tuple[BeliefCell, ...]
    rows: tuple[tuple[BeliefRow, ...], ...]
    start: tuple[tuple[int, Fraction], ...]
    parents: tuple[tuple[int, int] | None, ...]
    """(cell before, action); None where an episode begins."""
    growth: tuple[int, ...]
    """New cells at each depth."""

    @property
    def finite(self) -> bool:
        """Whether these are all the cells there are."""
        return len(self.rows) == len(self.cells)

    def history(self, cell: int) -> tuple[int, ...]:
        """A shortest history o₀ a₀ o₁ … that leads to a cell."""
        backwards = [self.cells[cell].observation]
        while (parent := self.parents[cell]) is not None:
            cell, action = parent
            backwards += [action, self.cells[cell].observation]
        return tuple(reversed(backwards))

    def __str__(self) -> str:
        if self.finite:
            return f"{len(self.cells):,} posterior{'s' * (len(self.cells) != 1)}"
        shown = ", ".join(map(str, self.growth[:12]))
        return f"more than {len(self.cells):,} posteriors ({shown}, … new ones after each step)"


def grouped(values: Iterable[Hashable]) -> list[list[int]]:
    """The places of equal values, in the order in which the values come first."""
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(value, []).append(place)
    return list(places.values())


def close(pomdp: Pomdp, limit: int = LIMIT) -> Filter:
    """Forward closure over (observation, posterior), given up beyond `limit` cells or `BITS`."""
    step = Stepper(pomdp)
    begins = step.begin()
    index = {cell: place for place, (cell, _) in enumerate(begins)}
    cells = list(index)
    parents: list[tuple[int, int] | None] = [None] * len(cells)
    rows: list[tuple[BeliefRow, ...]] = []
    growth = [len(cells)]
    long = False
    while len(rows) < len(cells) <= limit and not long:
        here = len(rows)
        ways = []
        for action in range(len(pomdp.actions)):
            after, row = step(cells[here].posterior, action)
            places = []
            for cell in after:
                places.append(index.setdefault(cell, len(cells)))
                if places[-1] == len(cells):
                    cells.append(cell)
                    parents.append((here, action))
                    long = long or max(w for _, w in cell.posterior).bit_length() > BITS
            ways.append(row._replace(after=tuple(places)))
        rows.append(tuple(ways))
        if len(rows) == sum(growth):
            growth.append(len(cells) - len(rows))
    start = tuple((index[cell], probability) for cell, probability in begins)
    seen = tuple(growth[:-1]) if growth[-1] == 0 else tuple(growth)
    return Filter(pomdp, tuple(cells), tuple(rows), start, tuple(parents), seen)


def expected(row: BeliefRow, observation: int) -> Fraction:
    """E[r | h, a, o']."""
    paid = [(reward, p) for o, _, reward, p in row.joint if o == observation]
    return sum((r * p for r, p in paid), Fraction(0)) / sum(p for _, p in paid)


class Stepper:
    """Bayes' rule in whole numbers."""

    def __init__(self, pomdp: Pomdp):
        self.pomdp, self.over = pomdp, pomdp.over
        ways = [way for rows in pomdp.steps for row in rows for way in row]
        self.scale = lcm(*{way.probability.denominator for way in ways})
        self.kinds = sorted({(way.observation, way.state in self.over, way.reward) for way in ways})
        """Every (o', over, r) that a step can show, in order."""
        number = {kind: place for place, kind in enumerate(self.kinds)}
        self.whole = [[self._whole(row, number) for row in rows] for rows in pomdp.steps]
        """[state][action]: (next state, o', kind, chance times `scale`)."""
        self._laws: dict[tuple, tuple] = {}
        self._rows: dict[tuple, BeliefRow] = {}

    def _whole(
        self, row: Sequence[Branch], number: dict[Kind, int]
    ) -> list[tuple[int, int, int, int]]:
        return [
            (s, o, number[o, s in self.over, reward], p.numerator * (self.scale // p.denominator))
            for s, o, p, reward in row
        ]

    def begin(self) -> list[tuple[BeliefCell, Fraction]]:
        """The first cells and how likely they are."""
        scale = lcm(*(begin.probability.denominator for begin in self.pomdp.start))
        seen: dict[int, dict[int, int]] = {}
        for s, o, p in self.pomdp.start:
            weights = seen.setdefault(o, {})
            weights[s] = weights.get(s, 0) + int(p * scale)
        return [
            (BeliefCell(o, _posterior(weights)), Fraction(sum(weights.values()), scale))
            for o, weights in sorted(seen.items())
        ]

    def __call__(self, posterior: Posterior, action: int) -> tuple[list[BeliefCell], BeliefRow]:
        """The cells that an action leads to, and its row (without them)."""
        seen: dict[int, dict[int, int]] = {}
        paid: dict[int, int] = {}
        for s, w in posterior:
            for s2, o, kind, p in self.whole[s][action]:
                paid[kind] = paid.get(kind, 0) + w * p
                if s2 not in self.over:
                    weights = seen.setdefault(o, {})
                    weights[s2] = weights.get(s2, 0) + w * p
        factor = gcd(*paid.values())
        key = tuple(sorted((kind, w // factor) for kind, w in paid.items()))
        row = self._rows.get(key) or self._rows.setdefault(key, self._row(key))
        return [BeliefCell(o, _posterior(seen[o])) for o in sorted(seen)], row

    def _row(self, weights: tuple[tuple[int, int], ...]) -> BeliefRow:
        """From the weights of kinds; there are few different ones, and fractions take time."""
        total = sum(w for _, w in weights)
        joint = tuple((*self.kinds[kind], Fraction(w, total)) for kind, w in weights)
        law, last = (
            tuple(summed((o, p) for o, over, _, p in joint if over is which).items())
            for which in (False, True)
        )
        mean = sum((r * p for _, _, r, p in joint if r), ZERO)
        return BeliefRow(self._intern(law), self._intern(last), (), mean, self._intern(joint))

    def _intern(self, law: tuple) -> tuple:
        return self._laws.setdefault(law, law)


def coprime(weights: dict[int, int]) -> dict[int, int]:
    """Whole numbers without their common factor."""
    factor = gcd(*weights.values())
    return {s: w // factor for s, w in weights.items()}


def _posterior(weights: dict[int, int]) -> Posterior:
    return tuple(sorted(coprime(weights).items()))
