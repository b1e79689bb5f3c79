"""The maps of MiniGrid-MemoryS: where the walls and objects are, and what is seen from where.

Coordinates are MiniGrid's: x to the right, y down; headings 0 east, 1 south, 2 west, 3 north.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

EMPTY, WALL, KEY, BALL, UNSEEN = range(5)

# (object, colour, state) as MiniGrid encodes them, by the constants above.
_CODES = np.array([[1, 0, 0], [2, 5, 0], [5, 1, 0], [6, 1, 0], [0, 0, 0]])
_N_OBJECTS, _N_COLOURS, _N_STATES = 11, 6, 3

FORWARD = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
RIGHTWARD = np.array([[0, 1], [-1, 0], [0, -1], [1, 0]])


class Layout(NamedTuple):
    """One of the maps that an episode can have."""

    hallway_end: int
    cue: int
    """KEY or BALL, shown in the start room."""
    upper: int
    """KEY or BALL, shown above the junction; the other is below."""
    grid: Int[np.ndarray, "x y"]
    success: tuple[int, int]
    failure: tuple[int, int]


def make_layout(size: int, hallway_end: int, cue: int, upper: int) -> Layout:
    """Build the map: a start room, a hallway from it to a gap, a corridor across beyond."""
    middle = size // 2
    grid = np.full((size, size), WALL)
    grid[1 : size - 1, 1 : size - 1] = EMPTY
    # the start room is three cells high; its exit and the hallway are one
    grid[1:5, [middle - 2, middle + 2]] = WALL
    grid[4:hallway_end, [middle - 1, middle + 1]] = WALL
    grid[hallway_end, :] = WALL
    grid[hallway_end, middle] = EMPTY
    grid[hallway_end + 2, :] = WALL

    junction = hallway_end + 1
    grid[1, middle - 1] = cue
    grid[junction, middle - 2] = upper
    grid[junction, middle + 2] = KEY + BALL - upper
    above, below = (junction, middle - 1), (junction, middle + 1)
    matching = (above, below) if cue == upper else (below, above)
    return Layout(hallway_end, cue, upper, grid, *matching)


def view(
    grid: Int[np.ndarray, "x y"], poses: Int[np.ndarray, "pose 3"], size: int
) -> Int[np.ndarray, "pose column row"]:
    """What is seen from each pose (x, y, heading): the agent looks up from the bottom middle."""
    place = looked_at(poses, size)
    inside = ((place >= 0) & (place < len(grid))).all(-1)
    x, y = np.moveaxis(np.clip(place, 0, len(grid) - 1), -1, 0)
    seen = np.where(inside, grid[x, y], WALL)
    seen[:, size // 2, size - 1] = EMPTY
    return np.where(_visible(seen == WALL), seen, UNSEEN)


def looked_at(poses: Int[np.ndarray, "pose 3"], size: int) -> Int[np.ndarray, "pose column row 2"]:
    """The place (x, y) in each cell of the view; it may lie outside the map."""
    column, row = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    ahead, right = (size - 1 - row)[..., None], (column - size // 2)[..., None]
    heading = poses[:, 2]
    return (
        poses[:, None, None, :2]
        + ahead * FORWARD[heading][:, None, None]
        + right * RIGHTWARD[heading][:, None, None]
    )


def _visible(opaque: Bool[np.ndarray, "pose column row"]) -> Bool[np.ndarray, "pose column row"]:
    """MiniGrid's rule: light spreads row by row away from the agent, first right, then left.

    A lit cell that is not opaque lights its neighbour to the side, and the two cells above them.
    """
    size = opaque.shape[1]
    lit = np.zeros_like(opaque)
    lit[:, size // 2, size - 1] = True
    for row in reversed(range(size)):
        rightward = [(column, column + 1) for column in range(size - 1)]
        leftward = [(column, column - 1) for column in reversed(range(1, size))]
        for column, beside in rightward + leftward:
            through = lit[:, column, row] & ~opaque[:, column, row]
            lit[:, beside, row] |= through
            if row > 0:
                lit[:, beside, row - 1] |= through
                lit[:, column, row - 1] |= through
    return lit


def one_hot(seen: Int[np.ndarray, "*batch column row"]) -> np.ndarray:
    """Twenty bits a cell: object, colour, state; three are set, in unseen cells too."""
    kind, colour, state = np.moveaxis(_CODES[seen], -1, 0)
    parts = (
        np.eye(_N_OBJECTS, dtype=np.uint8)[kind],
        np.eye(_N_COLOURS, dtype=np.uint8)[colour],
        np.eye(_N_STATES, dtype=np.uint8)[state],
    )
    return np.concatenate(parts, -1)
