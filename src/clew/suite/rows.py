"""A run's row of a checkpoint, made to fit the program in which the run goes on.

A program has one bonus, or several of which each run has one (`OneOf`). Its checkpoints hold the
state of all its bonuses. A run needs that of its own bonus, or none if it has no bonus. The states
of the other bonuses do not matter to it: in another program they are as at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clew.learner import Knobs, Pack, Program, to_arrays
from clew.learner.checkpoint import Named, stored_shapes
from clew.store import CannotRead, Damaged
from clew.store.arrays import read_shapes
from clew.suite.spec import NONE, bonus_name

if TYPE_CHECKING:
    from clew.suite.packs import PackSpec
    from clew.suite.spec import RunSpec

STATE = "state/"
DELIVERY = STATE + "delivery/"
BONUS = DELIVERY + "state"
Layout = Mapping[str, object]
"""Shape and type of each array of a run's state, by the names that checkpoints use."""


class Row(NamedTuple):
    """What a checkpoint has of one run."""

    arrays: Named
    joint: bool
    """Whether it was trained in a program with several bonuses."""


@cache
def layout(program: Program) -> Layout:
    """Of the checkpoints of a program."""
    shapes = stored_shapes(Pack.single(program, 0, {}, Knobs()))
    return {STATE + name: (shape[1:], dtype) for name, (shape, dtype) in shapes.items()}


def layout_of(path: Path) -> Layout:
    """Of a checkpoint; empty if it cannot be read."""
    try:
        shapes = read_shapes(path)
    except (Damaged, CannotRead, FileNotFoundError):
        return {}
    return {
        name: (shape[1:], dtype)
        for name, (shape, dtype) in shapes.items()
        if name.startswith(STATE)
    }


def usable(pack: PackSpec, run: RunSpec, found: Layout, joint: bool) -> bool:
    """Whether a run of this pack can go on from a checkpoint with this layout."""
    wanted = layout(pack.program)
    if found == wanted:
        return True
    here, there = _needed(run, found, joint), _needed(run, wanted, pack.joint)
    return here.keys() == there.keys() and all(
        found[here[name]] == wanted[there[name]] for name in here
    )


def fitted(pack: PackSpec, rows: Sequence[Row]) -> list[Named]:
    """The rows of a pack's runs, as a checkpoint of its program has them.

    What cannot be made to fit is returned as it is.
    """
    wanted, made = layout(pack.program), [row.arrays for row in rows]
    unlike: list[int] = []
    for n, (run, row) in enumerate(zip(pack.runs, rows, strict=True)):
        found = {
            name: (array.shape, array.dtype)
            for name, array in row.arrays.items()
            if name.startswith(STATE)
        }
        if found != wanted and usable(pack, run, found, row.joint):
            unlike.append(n)
    if not unlike:
        return made
    begun = to_arrays(pack._replace(runs=tuple(pack.runs[n] for n in unlike)).pack.begin())
    for at, n in enumerate(unlike):
        run, row = pack.runs[n], rows[n]
        here, there = _needed(run, row.arrays, row.joint), _needed(run, wanted, pack.joint)
        kept = {name: array for name, array in row.arrays.items() if not name.startswith(STATE)}
        fresh = {STATE + name: array[at] for name, array in begun.items()}
        made[n] = kept | fresh | {there[name]: row.arrays[here[name]] for name in there}
    return made


def _needed(run: RunSpec, names: Iterable[str], joint: bool) -> dict[str, str]:
    """What a run needs of a state: names that are the same in every program, and those there."""
    own = f"{BONUS}/states/{bonus_name(run.own_bonus)}" if joint else BONUS
    found: dict[str, str] = {}
    for name in names:
        if not name.startswith(STATE):
            continue
        if not name.startswith(DELIVERY):
            found[name] = name
        elif run.bonus == NONE[0]:
            continue
        elif name == own or name.startswith(own + "/"):
            found[BONUS + name.removeprefix(own)] = name
        elif name != BONUS and not name.startswith(BONUS + "/"):
            found[name] = name
    return found
