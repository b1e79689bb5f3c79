"""The law of MysteryPath's levels on a small grid, in exact fractions.

The generator (`levels`) draws ends, walls and step costs. Here every draw is followed at once:
states of its search that behave alike from now on are added up. What behaves alike: the order of
the open tiles, how much their totals differ, and all parents. Plain Python, no jax.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from clew.envs.worlds.mystery_path.levels import (
    INNER_WALL_PERCENT,
    MAX_STEP_COST,
    OUTER_WALLS,
    UNIT,
    distances_of,
    neighbours_of,
)

LARGEST = 3
"""Tiles along a side, at most: beyond it there are too many searches to follow."""

LevelKey = tuple[frozenset[int], int, int]
"""The path's tiles, origin and goal."""


def level_law(size: int, sides: tuple[int, ...]) -> dict[LevelKey, Fraction]:
    """The probability of every level that can be drawn."""
    law: dict[LevelKey, Fraction] = defaultdict(Fraction)
    for (origin, goal), p_ends in _ends(size, sides).items():
        for walls, p_walls in _walls(size, origin, goal).items():
            for path, p_path in _Paths(size, walls, origin, goal).law().items():
                law[path, origin, goal] += p_ends * p_walls * p_path
    return dict(law)


def _ends(size: int, sides: tuple[int, ...]) -> dict[tuple[int, int], Fraction]:
    law: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for side in sides:
        near = 0 if side % 2 == 0 else size - 1
        far = size - 1 - near
        for one in range(size):
            for two in range(size):
                ends = (
                    (near * size + one, far * size + two)
                    if side < 2
                    else (one * size + near, two * size + far)
                )
                law[ends] += Fraction(1, len(sides) * size * size)
    return law


def _walls(size: int, origin: int, goal: int) -> dict[frozenset[int], Fraction]:
    """Inner walls one by one, then some of the border tiles that are away from all else."""
    inside = [x * size + y for x in range(1, size - 2) for y in range(1, size - 2)]
    law: dict[frozenset[int], Fraction] = defaultdict(Fraction)
    wall = Fraction(INNER_WALL_PERCENT, 100)
    for count in range(len(inside) + 1):
        for inner in combinations(inside, count):
            chance = wall**count * (1 - wall) ** (len(inside) - count)
            free = [t for t in _border(size) if _is_free(size, t, inner, (origin, goal))]
            for number in OUTER_WALLS:
                some = list(combinations(free, min(number, len(free))))
                for outer in some:
                    law[frozenset((*inner, *outer))] += chance / (len(OUTER_WALLS) * len(some))
    return law


def _border(size: int) -> Iterator[int]:
    return (t for t in range(size * size) if {t // size, t % size} & {0, size - 1})


def _is_free(size: int, tile: int, inner: tuple[int, ...], ends: tuple[int, int]) -> bool:
    x, y = divmod(tile, size)
    beside = any(max(abs(x - t // size), abs(y - t % size)) <= 1 for t in inner)
    return not beside and all(abs(x - e // size) + abs(y - e % size) > 1 for e in ends)


class _Search(NamedTuple):
    """Open tiles in the order they were opened, with totals; closed tiles; everyone's parent."""

    open: tuple[tuple[int, int], ...]
    closed: frozenset[int]
    parent: tuple[int, ...]
    current: int
    so_far: int
    """The cost of the way to the current tile."""


class _Paths:
    """The law of the path between two ends around given walls."""

    def __init__(self, size: int, walls: frozenset[int], origin: int, goal: int):
        self.walls, self.origin, self.goal = walls, origin, goal
        near, exists = neighbours_of(size)
        self.near = [
            [int(t) for t, is_one in zip(*row, strict=True) if is_one]
            for row in zip(near, exists, strict=True)
        ]
        self.togo = [int(d) for d in np.asarray(distances_of(size))[goal]]

    def law(self) -> dict[frozenset[int], Fraction]:
        first = _Search((), frozenset(self.walls), (-1,) * len(self.near), self.origin, 0)
        now, found = {first: Fraction(1)}, defaultdict[frozenset[int], Fraction](Fraction)
        while now:
            later: dict[_Search, Fraction] = defaultdict(Fraction)
            for search, chance in now.items():
                for after, p in self._expanded(search).items():
                    picked = self._pick(after)
                    if picked.current == self.goal:
                        found[self._trace(picked.parent)] += chance * p
                    else:
                        later[picked] += chance * p
            now = later
        return found

    def _expanded(self, search: _Search) -> dict[_Search, Fraction]:
        """Close the current tile and look at its neighbours, each at every cost."""
        here = search.current
        now = {search._replace(closed=search.closed | {here}): Fraction(1)}
        for there in self.near[here]:
            if there in search.closed:
                continue
            later: dict[_Search, Fraction] = defaultdict(Fraction)
            for one, chance in now.items():
                for cost in range(1, MAX_STEP_COST + 1):
                    later[self._looked_at(one, there, cost * UNIT)] += chance / MAX_STEP_COST
            now = later
        return now

    def _looked_at(self, search: _Search, there: int, cost: int) -> _Search:
        total = search.so_far + cost + self.togo[there]
        known = dict(search.open)
        if there in known and total >= known[there]:
            return search
        parent = list(search.parent)
        parent[there] = search.current
        # a cheaper way to an open tile changes its parent, but not its total
        more = () if there in known else ((there, total),)
        return search._replace(open=(*search.open, *more), parent=tuple(parent))

    def _pick(self, search: _Search) -> _Search:
        """The first open tile that beats the first open tile, or that one; costs count from it."""
        first = search.open[0]
        tile, total = next((each for each in search.open if each[1] < first[1]), first)
        so_far = total - self.togo[tile]
        rest = tuple((t, value - so_far) for t, value in search.open if t != tile)
        return search._replace(open=rest, current=tile, so_far=0)

    def _trace(self, parent: tuple[int, ...]) -> frozenset[int]:
        tiles, tile = set[int](), self.goal
        while tile >= 0:
            tiles.add(tile)
            tile = parent[tile]
        return frozenset(tiles)
