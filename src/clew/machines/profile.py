"""The supervision profile: which distinctions does the reward force every encoder to keep?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from clew.machines.belief import Cell, Filter
from clew.machines.density import distinguishable
from clew.machines.pairs import Pairs
from clew.machines.policy import Optimal

Marginal = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class Tally:
    """Pairs of cells with the same observation, counted."""

    pairs: int = 0
    distinguishable: int = 0
    """They promise different next steps under some action."""
    unpoolable: int = 0
    """Every encoder keeps them apart: supervised."""
    required: int = 0
    """No action is optimal for both: some memory must keep them apart to act well."""
    required_unpoolable: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def _counts(self) -> tuple[int, ...]:
        return (
            self.pairs,
            self.distinguishable,
            self.unpoolable,
            self.required,
            self.required_unpoolable,
        )


@dataclass(frozen=True)
class Profile:
    """All pairs, and of each latent variable those that differ in its marginal alone."""

    total: Tally
    variables: Mapping[str, Tally]
    fixed: frozenset[str]
    """Variables that no step changes before the episode is over: what a level is made of."""
    level: Tally
    """Pairs that differ in the fixed variables, one or more of them, and in nothing else."""


def profile(pairs: Pairs, best: Optimal) -> Profile:
    """Count every pair. The filter must be finite."""
    beliefs = pairs.beliefs
    variables = list(beliefs.pomdp.variables)
    marginals = [
        [marginal(beliefs, cell, variable) for variable in variables] for cell in beliefs.cells
    ]
    together: dict[int, list[int]] = defaultdict(list)
    for number, cell in enumerate(beliefs.cells):
        together[cell.observation].append(number)
    fixed = fixed_variables(beliefs)
    lasting = {place for place, variable in enumerate(variables) if variable in fixed}
    total, level = Tally(), Tally()
    only: dict[str, Tally] = dict.fromkeys(variables, Tally())
    for some in together.values():
        total += _tally(pairs, best, combinations(some, 2))
        level += _tally(pairs, best, _differing(some, marginals, lasting))
        for place, variable in enumerate(variables):
            only[variable] += _tally(pairs, best, _differing(some, marginals, {place}))
    return Profile(total, only, fixed, level)


def marginal(beliefs: Filter, cell: Cell, variable: str) -> Marginal:
    """What a cell says about one variable."""
    values = beliefs.pomdp.variables[variable]
    weights: dict[str, int] = defaultdict(int)
    for s, weight in cell.posterior:
        weights[str(values[s])] += weight
    total = sum(weights.values())
    return tuple((value, Fraction(w, total)) for value, w in sorted(weights.items()))


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


def _differing(
    cells: list[int], marginals: list[list[Marginal]], places: Set[int]
) -> Iterator[tuple[int, int]]:
    """The pairs that differ in some of these marginals, and agree in all others."""
    alike: dict[tuple, list[int]] = defaultdict(list)
    for cell in cells:
        others = (each for place, each in enumerate(marginals[cell]) if place not in places)
        alike[tuple(others)].append(cell)
    for some in alike.values():
        for first, second in combinations(some, 2):
            if marginals[first] != marginals[second]:
                yield first, second


def _tally(pairs: Pairs, best: Optimal, some: Iterator[tuple[int, int]]) -> Tally:
    count = [0] * 5
    actions = [frozenset(each) for each in best.actions]
    for first, second in some:
        kept = not pairs.poolable(first, second)
        needed = actions[first].isdisjoint(actions[second])
        for place, holds in enumerate(
            (True, distinguishable(pairs.beliefs, first, second), kept, needed, kept and needed)
        ):
            count[place] += holds
    return Tally(*count)
