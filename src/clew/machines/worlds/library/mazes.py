"""Small mazes from the early literature; in each, the episode begins anew after the goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register

NORTH, SOUTH, EAST, WEST = "north", "south", "east", "west"
STEPS = {NORTH: (0, -1), SOUTH: (0, 1), EAST: (1, 0), WEST: (-1, 0)}
Square = tuple[int, int]


@register("CheeseMaze")
def cheese_maze(gamma: NumberLike = "95/100") -> Pomdp:
    """McCallum's maze: a corridor with three legs, cheese at the foot of the middle one.

    Walls are what is seen, so that all legs look alike. Reaching the cheese pays 1, and the next
    step begins anew in any other cell.
    """
    plan = ["#####", "# # #", "# $ #"]
    cells = [(x, y) for y, row in enumerate(plan) for x, mark in enumerate(row) if mark in "#$"]
    cheese = (2, 2)

    def seen(place: Square) -> str:
        if place == cheese:
            return "cheese"
        return "open to " + " ".join(d for d, step in STEPS.items() if _add(place, step) in cells)

    return _maze(
        name="cheese maze",
        cells=cells,
        seen=seen,
        again=[cheese],
        slip=Fraction(0),
        r=lambda here, there: int(there == cheese),
        gamma=gamma,
    )


@register("4x3")
def four_by_three(gamma: NumberLike = "95/100") -> Pomdp:
    """The 4×3 world of Russell and Norvig with two-sided walls as the view (Parr and Russell).

    Moves slip to either side with probability 1/10; steps cost 1/25; leaving the good cell pays
    1, leaving the bad one −1, and both begin anew.
    """
    cells = [(x, y) for y in range(3) for x in range(4) if (x, y) != (1, 1)]
    good, bad = (3, 0), (3, 1)

    def seen(place: Square) -> str:
        if place in (good, bad):
            return "good" if place == good else "bad"
        walls = [d for d in (WEST, EAST) if _add(place, STEPS[d]) not in cells]
        return "walls: " + (" ".join(walls) or "none")

    def r(here: Square, there: Square) -> NumberLike:
        return {good: 1, bad: -1}.get(here, "-1/25")

    return _maze(
        name="4×3 world",
        cells=cells,
        seen=seen,
        again=[good, bad],
        slip=Fraction(1, 10),
        r=r,
        gamma=gamma,
    )


@register("1D")
def one_dimensional(gamma: NumberLike = "75/100") -> Pomdp:
    """Four cells in a row of which only the goal, the third, looks different."""
    goal = (2, 0)
    return _maze(
        name="1D maze",
        cells=[(x, 0) for x in range(4)],
        seen=lambda place: "goal" if place == goal else "nothing",
        again=[goal],
        slip=Fraction(0),
        r=lambda here, there: int(there == goal),
        gamma=gamma,
        moves=(WEST, EAST),
    )


def _maze(
    *,
    name: str,
    cells: Sequence[Square],
    seen: Callable[[Square], str],
    again: Sequence[Square],
    slip: Fraction,
    r: Callable[[Square, Square], NumberLike],
    gamma: NumberLike,
    moves: Sequence[str] = tuple(STEPS),
) -> Pomdp:
    """Walk a grid; from the cells in `again` every action begins anew in any other cell."""
    place = {f"{x},{y}": (x, y) for x, y in cells}
    called = {at: state for state, at in place.items()}
    fresh = [at for at in cells if at not in again]
    anywhere = {called[at]: Fraction(1, len(fresh)) for at in fresh}

    def walk(here: Square, move: str) -> str:
        there = _add(here, STEPS[move])
        return called[there if there in cells else here]

    def p(s: str, a: str) -> Mapping[str, Fraction]:
        here = place[s]
        if here in again:
            return anywhere
        law = {walk(here, a): 1 - 2 * slip}
        for side in (NORTH, SOUTH) if a in (EAST, WEST) else (EAST, WEST):
            after = walk(here, side)
            law[after] = law.get(after, Fraction(0)) + slip
        return law

    return Pomdp.build(
        states=list(place),
        actions=list(moves),
        observations=list(dict.fromkeys(seen(at) for at in cells)),
        p=p,
        omega=lambda s: seen(place[s]),
        r=lambda s, a, after: r(place[s], place[after]),
        gamma=gamma,
        mu=anywhere,
        first="begin",
        variables={"place": lambda s: s},
        name=name,
    )


def _add(place: Square, step: Square) -> Square:
    return place[0] + step[0], place[1] + step[1]
