"""Levels of MysteryPath-Grid, drawn on the device with the original's distribution.

The original runs a search that is meant to be A* but differs from it. The differences decide
which paths occur, so they are kept: the next node is the *first* open one that beats open[0], not
the best; every step's cost is drawn anew when a neighbour is looked at; and a cheaper way to an
open node changes the node's parent but not its cost.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, PRNGKeyArray

INNER_WALL_PERCENT = 33
OUTER_WALLS = (4, 8)
MAX_STEP_COST = 8

# Costs are in 1/2^18 of a step: whole numbers compare the same on every device. The values
# g + sqrt(n) that the search compares are at least 15 such units apart for sizes up to 16.
UNIT = 2**18

NEW, CLOSED = np.int32(2**30), np.int32(2**30 + 1)


class Level(NamedTuple):
    """Tiles are numbered x · size + y."""

    path: Bool[Array, " tile"]
    origin: Int[Array, ""]
    goal: Int[Array, ""]


def draw_level(key: PRNGKeyArray, size: int, sides: tuple[int, ...]) -> Level:
    """Draw origin and goal on opposite sides, then walls, then the path around them."""
    ends_key, walls_key, cost_key = jax.random.split(key, 3)
    origin, goal = draw_ends(ends_key, size, sides)
    walls = draw_walls(walls_key, size, origin, goal)
    costs = 1 + jax.random.bits(cost_key, (4 * size * size,), jnp.uint8) % MAX_STEP_COST
    return Level(find_path(size, walls, origin, goal, costs), origin, goal)


def draw_ends(
    key: PRNGKeyArray, size: int, sides: tuple[int, ...]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The origin uniform on a side (0 left, 1 right, 2 top, 3 bottom), the goal opposite."""
    side_key, origin_key, goal_key = jax.random.split(key, 3)
    side = jnp.asarray(sides, jnp.int32)[jax.random.randint(side_key, (), 0, len(sides))]
    near = jnp.where(side % 2 == 0, 0, size - 1)
    ends = []
    for along_key, across in ((origin_key, near), (goal_key, size - 1 - near)):
        along = jax.random.randint(along_key, (), 0, size, jnp.int32)
        ends.append(jnp.where(side < 2, across * size + along, along * size + across))
    return ends[0], ends[1]


def draw_walls(
    key: PRNGKeyArray, size: int, origin: Int[Array, ""], goal: Int[Array, ""]
) -> Bool[Array, " tile"]:
    """Walls inside, each with probability .33; then 4 or 8 on the border, away from all else.

    The original's inner region stops one short of the border on the far sides (1..size−3).
    """
    inner_key, count_key, outer_key = jax.random.split(key, 3)
    x, y = np.divmod(np.arange(size * size), size)
    inside = (x > 0) & (x < size - 2) & (y > 0) & (y < size - 2)
    percent = jax.random.randint(inner_key, (size * size,), 0, 100)
    inner = jnp.asarray(inside) & (percent < INNER_WALL_PERCENT)

    grid = jnp.pad(inner.reshape(size, size), 1)
    shifts = [grid[i : i + size, j : j + size] for i in range(3) for j in range(3)]
    beside_wall = jnp.stack(shifts).any(0).reshape(-1)
    near_end = jnp.zeros(size * size, bool)
    for end in (origin, goal):
        near_end |= abs(x - end // size) + abs(y - end % size) <= 1
    border = np.flatnonzero((x == 0) | (x == size - 1) | (y == 0) | (y == size - 1))
    free = ~(beside_wall | near_end)[border]

    # the first n of a random order of the free tiles: n draws without replacement
    n = jnp.asarray(OUTER_WALLS)[jax.random.randint(count_key, (), 0, 2)]
    place = jnp.where(free, jax.random.uniform(outer_key, free.shape), 2.0)
    rank = (place[None, :] < place[:, None]).sum(1)
    return inner.at[border].set(free & (rank < n))


class _Search(NamedTuple):
    place: Int[Array, " tile"]
    """Place in the open list, with the tile in the low bits; or NEW or CLOSED."""
    total: Int[Array, " tile"]
    """Cost so far plus distance to go, as of when the tile was opened."""
    parent: Int[Array, " tile"]
    opened: Int[Array, ""]
    drawn: Int[Array, ""]
    current: Int[Array, ""]


def find_path(
    size: int,
    walls: Bool[Array, " tile"],
    origin: Int[Array, ""],
    goal: Int[Array, ""],
    costs: Integer[Array, " draw"],
) -> Bool[Array, " tile"]:
    """Search from origin to goal; `costs` are the step costs in the order they are drawn.

    Returns the tiles of the path, both ends included. Writes are masks over all tiles and the
    open list is a number a tile: scatters and argmins are slow when vmapped on a CPU.
    """
    tile = jnp.arange(size * size, dtype=jnp.int32)
    neighbours, exists = (jnp.asarray(table) for table in neighbours_of(size))
    heuristic = jnp.asarray(distances_of(size))[goal]

    def expand(search: _Search) -> _Search:
        """Close the current tile and look at its neighbours, in their order."""
        here = search.current
        near = neighbours[here]
        place, total = search.place[near], search.total[near]
        looked_at = exists[here] & (place < CLOSED)
        opens = looked_at & (place == NEW)
        draw = search.drawn + jnp.cumsum(looked_at, dtype=jnp.int32) - looked_at
        step = costs[draw].astype(jnp.int32) * UNIT
        new_total = search.total[here] - heuristic[here] + step + heuristic[near]
        turn = search.opened + jnp.cumsum(opens, dtype=jnp.int32) - opens
        adopts = opens | (looked_at & (new_total < total))
        search = search._replace(
            place=jnp.where(tile == here, CLOSED, search.place),
            opened=search.opened + opens.sum(dtype=jnp.int32),
            drawn=search.drawn + looked_at.sum(dtype=jnp.int32),
        )
        for i in range(4):
            there = tile == near[i]
            search = search._replace(
                place=jnp.where(there & opens[i], turn[i] * 256 + near[i], search.place),
                total=jnp.where(there & opens[i], new_total[i], search.total),
                parent=jnp.where(there & adopts[i], here, search.parent),
            )
        return search

    def pick(search: _Search) -> _Search:
        """Move to the first open tile that beats the first open tile, or to that one."""
        first = search.place.min()
        beats = search.total < search.total[first % 256]
        better = jnp.where(beats, search.place, CLOSED).min()
        return search._replace(current=jnp.where(better < NEW, better, first) % 256)

    def searching(search: _Search) -> Bool[Array, ""]:
        return (search.current != goal) & (search.place < NEW).any()

    origin = jnp.asarray(origin, jnp.int32)
    start = _Search(
        place=jnp.where(walls, CLOSED, jnp.where(tile == origin, origin, NEW)),
        total=heuristic,
        parent=jnp.full(size * size, -1, jnp.int32),
        opened=jnp.int32(1),
        drawn=jnp.int32(0),
        current=origin,
    )
    found = jax.lax.while_loop(searching, lambda search: pick(expand(search)), start)
    return _trace(found.parent, goal)


def _trace(parent: Int[Array, " tile"], goal: Int[Array, ""]) -> Bool[Array, " tile"]:
    def back(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        tile, path = carry
        return parent[tile], path | (jnp.arange(len(path)) == tile)

    start = (jnp.asarray(goal, jnp.int32), jnp.zeros(parent.shape, bool))
    return jax.lax.while_loop(lambda carry: carry[0] >= 0, back, start)[1]


def neighbours_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours in the order they are looked at: right, left, below, above."""
    tile = np.arange(size * size)
    x, y = np.divmod(tile, size)
    exists = np.stack([x < size - 1, x > 0, y < size - 1, y > 0], 1)
    step = np.array([size, -size, 1, -1])
    return np.where(exists, tile[:, None] + step, 0).astype(np.int32), exists


def distances_of(size: int) -> np.ndarray:
    """Between any two tiles, in units of the costs."""
    x, y = np.divmod(np.arange(size * size), size)
    squared = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    return np.round(np.sqrt(squared) * UNIT).astype(np.int32)
