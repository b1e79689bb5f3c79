"""The supervision profile: which distinctions does the reward force every encoder to keep?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import astuple, dataclass
from fractions import Fraction
from operator import add

import numpy as np
from numpy.typing import NDArray

from clew.machines.certificates.claims import Optimal, Pair
from clew.machines.deciding.pairs import Pairs
from clew.machines.deciding.pooled import walk
from clew.machines.model.belief import BeliefCell, Filter, grouped
from clew.machines.model.reward_machine import PomdpRM

Mask = NDArray[np.bool_]
"""[cell, cell]: whether something holds of two cells of one observation."""
ALL, LEVEL = "all pairs", "the level"
Marginal = frozenset[tuple[Hashable, Fraction]]


@dataclass(frozen=True)
class Tally:
    """Pairs of cells with the same observation, counted."""

    pairs: int = 0
    distinguishable: int = 0
    """Their next steps have different laws under some action."""
    unpoolable: int = 0
    """Every encoder keeps them apart: supervised."""
    required: int = 0
    """No action is optimal for both: some memory must keep them apart to act well."""
    required_unpoolable: int = 0
    pooled: int = 0
    """The machine that the verdict rests on, which was verified to encode, pools them."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class Profile:
    """All pairs, and of each latent variable those that differ in its marginal alone."""

    total: Tally
    variables: Mapping[str, Tally]
    fixed: frozenset[str]
    """Variables that no step changes before the episode is over: what a level is made of."""
    level: Tally
    """Pairs that differ in the fixed variables, one or more of them, and in nothing else."""


def profile(pairs: Pairs, best: Optimal, encoder: PomdpRM | None = None) -> Profile:
    """Count every pair. The filter must be finite.

    That a pair is not unpoolable follows from the decision; where it is also `pooled`, a machine
    shows it. Without an encoder nothing is shown.
    """
    beliefs = pairs.beliefs
    variables = list(beliefs.pomdp.variables)
    fixed = fixed_variables(beliefs)
    counted = dict.fromkeys((ALL, LEVEL, *variables), Tally())
    for group in _groups(pairs, best, encoder):
        alike = {v: group.alike(lambda c, v=v: marginal(beliefs, c, v)) for v in variables}
        chosen = {ALL: group.every, LEVEL: _differing(alike, fixed, group.every)}
        chosen |= {v: _differing(alike, {v}, group.every) for v in variables}
        for what, mask in chosen.items():
            counted[what] += group.tally(mask)
    only = {variable: counted[variable] for variable in variables}
    return Profile(counted[ALL], only, fixed, counted[LEVEL])


def marginal(beliefs: Filter, cell: BeliefCell, variable: str) -> Marginal:
    """What a cell says about one variable."""
    values = beliefs.pomdp.variables[variable]
    weights: dict[Hashable, int] = defaultdict(int)
    for s, weight in cell.posterior:
        weights[isinstance(values[s], bool), values[s]] += weight  # True is not 1
    total = sum(weights.values())
    return frozenset((value, Fraction(w, total)) for value, w in weights.items())


def fixed_variables(beliefs: Filter) -> frozenset[str]:
    """The variables that no step changes, the end apart."""
    pomdp = beliefs.pomdp
    moves = {
        (s, branch.state)
        for s in pomdp.reachable() - pomdp.terminal
        for row in pomdp.steps[s]
        for branch in row
        if branch.state not in pomdp.terminal
    }
    return frozenset(
        variable
        for variable, values in pomdp.variables.items()
        if all(values[s] == values[s2] for s, s2 in moves)
    )


def _differing(alike: Mapping[str, Mask], names: Set[str], every: Mask) -> Mask:
    """The pairs that differ in some of these variables, and agree in all others."""
    same, others = every.copy(), every.copy()
    for name, mask in alike.items():
        same &= mask
        if name not in names:
            others &= mask
    return others & ~same


@dataclass(frozen=True)
class _Group:
    """The cells with one observation, and what holds of each two of them."""

    cells: list[BeliefCell]
    every: Mask
    """Each two once."""
    told: Mask
    kept: Mask
    needed: Mask
    met: Mask

    def alike(self, of: Callable[[BeliefCell], Hashable]) -> Mask:
        """Which two cells have the same of something."""
        return _same([of(cell) for cell in self.cells])

    def tally(self, mask: Mask) -> Tally:
        """Count within a mask."""
        holds = (self.told, self.kept, self.needed, self.kept & self.needed, self.met)
        return Tally(int(mask.sum()), *(int((mask & each).sum()) for each in holds))


def _groups(pairs: Pairs, best: Optimal, encoder: PomdpRM | None) -> Iterator[_Group]:
    beliefs = pairs.beliefs
    apart: dict[int, list[Pair]] = defaultdict(list)
    for c, d in pairs.route:
        apart[pairs.classes.observation[c]].append((c, d))
    states: dict[int, set[int]] = defaultdict(set)
    for cell, u in walk(beliefs, encoder) if encoder else ():
        states[cell].add(u)
    for some in grouped(cell.observation for cell in beliefs.cells):
        joints = [tuple(id(row.joint) for row in beliefs.rows[cell]) for cell in some]
        yield _Group(
            [beliefs.cells[cell] for cell in some],
            np.triu(np.ones((len(some), len(some)), bool), 1),
            # laws are interned: one object for equal ones
            ~_same(joints),
            _kept(
                [pairs.classes.of[cell] for cell in some], apart[beliefs.cells[some[0]].observation]
            ),
            ~_meet([best.actions[cell] for cell in some]),
            _meet([states[cell] for cell in some]),
        )


def _same(values: Sequence[Hashable]) -> Mask:
    numbers: dict[Hashable, int] = {}
    found = np.array([numbers.setdefault(value, len(numbers)) for value in values])
    return found[:, None] == found[None, :]


def _meet(sets: Sequence[Collection[int]]) -> Mask:
    """Which two sets have something in common."""
    numbers: dict[int, int] = {}
    for each in sets:
        for one in each:
            numbers.setdefault(one, len(numbers))
    members = np.zeros((len(sets), len(numbers)), np.float32)
    for place, each in enumerate(sets):
        members[place, [numbers[one] for one in each]] = 1
    return members @ members.T > 0


def _kept(classes: Sequence[int], apart: Sequence[Pair]) -> Mask:
    numbers: dict[int, int] = {}
    places = [numbers.setdefault(c, len(numbers)) for c in classes]
    by_class = np.zeros((len(numbers), len(numbers)), bool)
    for c, d in apart:
        by_class[numbers[c], numbers[d]] = by_class[numbers[d], numbers[c]] = True
    return by_class[np.ix_(places, places)]
