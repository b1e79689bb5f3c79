"""MiniGrid-MemoryS as a table: every reachable state, where each action leads, what it shows.

S13 has 66 poses in each of 4 layouts: 264 rows are the whole environment.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
from jaxtyping import Bool, Int

from clew.envs.worlds.memory_s.layout import (
    BALL,
    EMPTY,
    FORWARD,
    KEY,
    Layout,
    make_layout,
    one_hot,
    view,
)

LEFT, RIGHT, AHEAD = 0, 1, 2
N_ACTIONS = 7
Pose = tuple[int, int, int]


@dataclasses.dataclass(frozen=True, eq=False)
class Tables:
    """Rows are states: a pose in a layout."""

    layouts: tuple[Layout, ...]
    layout: Int[np.ndarray, " state"]
    pose: Int[np.ndarray, "state 3"]
    next_state: Int[np.ndarray, "state action"]
    success: Bool[np.ndarray, " state"]
    failure: Bool[np.ndarray, " state"]
    cell: Int[np.ndarray, " state"]
    """A number for the place (x, y), from 0 to n_cells − 1."""
    n_cells: int
    symbol: Int[np.ndarray, " state"]
    alphabet: np.ndarray
    cue_visible: Bool[np.ndarray, " state"]
    starts: Int[np.ndarray, "length start arrangement"]
    """The start states of each hallway length, padded by repetition."""
    n_starts: Int[np.ndarray, " length"]


@cache
def build(size: int, view_size: int, random_length: bool) -> Tables:
    """Enumerate the states of all layouts."""
    lengths = range(4, size - 2) if random_length else (size - 3,)
    layouts = tuple(
        make_layout(size, hallway_end, cue, upper)
        for hallway_end in lengths
        for cue in (KEY, BALL)
        for upper in (KEY, BALL)
    )
    poses = [_reachable(layout) for layout in layouts]
    owner = np.repeat(np.arange(len(layouts)), [len(p) for p in poses])
    row = {
        (number, pose): index
        for index, (number, pose) in enumerate(
            (number, pose) for number, some in enumerate(poses) for pose in some
        )
    }
    next_state = [
        [row[number, _move(layouts[number], pose, action)] for action in range(N_ACTIONS)]
        for number, pose in row
    ]
    pose = np.array([pose for _, pose in row])
    seen = np.concatenate(
        [view(one.grid, np.array(p), view_size) for one, p in zip(layouts, poses, strict=True)]
    )
    alphabet, symbol = np.unique(one_hot(seen), axis=0, return_inverse=True)
    _, cell = np.unique(pose[:, :2], axis=0, return_inverse=True)
    starts = [
        [[row[4 * i + j, (x, size // 2, 0)] for j in range(4)] for x in range(1, hallway_end + 1)]
        for i, hallway_end in enumerate(lengths)
    ]
    longest = max(map(len, starts))
    return Tables(
        layouts=layouts,
        layout=owner,
        pose=pose,
        next_state=np.array(next_state),
        success=np.array([pose[:2] == layouts[number].success for number, pose in row]),
        failure=np.array([pose[:2] == layouts[number].failure for number, pose in row]),
        cell=cell.reshape(-1),
        n_cells=int(cell.max()) + 1,
        symbol=symbol.reshape(-1),
        alphabet=alphabet,
        cue_visible=_cue_visible(layouts, poses, view_size),
        starts=np.array([some + some[:1] * (longest - len(some)) for some in starts]),
        n_starts=np.array([len(some) for some in starts]),
    )


def _move(layout: Layout, pose: Pose, action: int) -> Pose:
    """Objects and walls block; nothing leaves a cell that ends the episode."""
    x, y, heading = pose
    if (x, y) in (layout.success, layout.failure):
        return pose
    if action == LEFT:
        return x, y, (heading - 1) % 4
    if action == RIGHT:
        return x, y, (heading + 1) % 4
    if action == AHEAD:
        ahead = x + int(FORWARD[heading, 0]), y + int(FORWARD[heading, 1])
        if layout.grid[ahead] == EMPTY:
            return *ahead, heading
    return pose


def _reachable(layout: Layout) -> list[Pose]:
    middle = len(layout.grid) // 2
    found: set[Pose] = {(x, middle, 0) for x in range(1, layout.hallway_end + 1)}
    frontier = list(found)
    while frontier:
        pose = frontier.pop()
        new = {_move(layout, pose, action) for action in range(N_ACTIONS)} - found
        found |= new
        frontier += new
    return sorted(found)


def _cue_visible(
    layouts: tuple[Layout, ...], poses: list[list[Pose]], view_size: int
) -> Bool[np.ndarray, " state"]:
    """Whether the view would differ, had the start room held the other object."""
    visible = []
    for layout, some in zip(layouts, poses, strict=True):
        other = layout.grid.copy()
        other[1, len(other) // 2 - 1] = KEY + BALL - layout.cue
        at = np.array(some)
        differs = view(layout.grid, at, view_size) != view(other, at, view_size)
        visible.append(differs.any((1, 2)))
    return np.concatenate(visible)
