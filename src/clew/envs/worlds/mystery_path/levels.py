"""Levels of MysteryPath-Grid, drawn on the device with the original's distribution.

The original runs a search that means to be A* and is not quite. What makes it different shapes
which paths occur, so it is kept: the next node is the *first* open one that beats open[0], not
the best; every step's cost is drawn anew when a neighbour is looked at; and a cheaper way to an
open node changes the node's parent but not its cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

INNER_WALL_PERCENT = 33
OUTER_WALLS = (4, 8)
MAX_STEP_COST = 8

# Costs are in 1/2^18 of a step: whole numbers compare the same on every device. The values
# g + sqrt(n) that the search compares are at least 15 such units apart for sizes up to 16.
UNIT = 2**18


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
    costs = jax.random.randint(cost_key, (4 * size * size,), 1, MAX_STEP_COST + 1)
    return Level(find_path(size, walls, origin, goal, costs), origin, goal)


def draw_ends(
    key: PRNGKeyArray, size: int, sides: tuple[int, ...]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The origin uniform on a side (0 left, 1 right, 2 top, 3 bottom), the goal opposite."""
    side_key, origin_key, goal_key = jax.random.split(key, 3)
    side = jnp.asarray(sides)[jax.random.randint(side_key, (), 0, len(sides))]
    near = jnp.where(side % 2 == 0, 0, size - 1)
    ends = []
    for along_key, across in ((origin_key, near), (goal_key, size - 1 - near)):
        along = jax.random.randint(along_key, (), 0, size)
        ends.append(jnp.where(side < 2, across * size + along, along * size + across))
    return ends[0], ends[1]


def draw_walls(
    key: PRNGKeyArray, size: int, origin: Int[Array, ""], goal: Int[Array, ""]
) -> Bool[Array, " tile"]:
    """Walls inside, each with probability .33; then 4 or 8 on the border, away from all else.

    The original's inner region stops one short of the border on the far sides (1..size−3).
    """
    inner_key, count_key, outer_key = jax.random.split(key, 3)
    tile = jnp.arange(size * size)
    x, y = tile // size, tile % size
    inside = (x > 0) & (x < size - 2) & (y > 0) & (y < size - 2)
    percent = jax.random.randint(inner_key, (size * size,), 0, 100)
    inner = inside & (percent < INNER_WALL_PERCENT)

    grid = jnp.pad(inner.reshape(size, size), 1)
    shifts = [grid[i : i + size, j : j + size] for i in range(3) for j in range(3)]
    beside_wall = jnp.stack(shifts).any(0).reshape(-1)
    near_end = jnp.zeros(size * size, bool)
    for end in (origin, goal):
        near_end |= abs(x - end // size) + abs(y - end % size) <= 1
    border = (x == 0) | (x == size - 1) | (y == 0) | (y == size - 1)
    free = border & ~beside_wall & ~near_end

    # the first n of a random order of the free tiles: n draws without replacement
    n = jnp.asarray(OUTER_WALLS)[jax.random.randint(count_key, (), 0, 2)]
    place = jnp.where(free, jax.random.uniform(outer_key, (size * size,)), 2.0)
    rank = jnp.argsort(jnp.argsort(place))
    return inner | (free & (rank < n))


class _Search(NamedTuple):
    open: Bool[Array, " tile"]
    closed: Bool[Array, " tile"]
    order: Int[Array, " tile"]
    """When each tile was opened: the original's open list, without the list."""
    cost: Int[Array, " tile"]
    total: Int[Array, " tile"]
    parent: Int[Array, " tile"]
    opened: Int[Array, ""]
    drawn: Int[Array, ""]
    current: Int[Array, ""]


def find_path(
    size: int,
    walls: Bool[Array, " tile"],
    origin: Int[Array, ""],
    goal: Int[Array, ""],
    costs: Int[Array, " draw"],
) -> Bool[Array, " tile"]:
    """Search from origin to goal; `costs` are the step costs in the order they are drawn.

    Returns the tiles of the path, both ends included.
    """
    tiles = size * size
    neighbours, exists = _neighbours(size)
    heuristic = jnp.asarray(_distances(size))[goal]

    def expand(search: _Search) -> _Search:
        here = search.current
        near = jnp.asarray(neighbours)[here]
        looked_at = jnp.asarray(exists)[here] & ~search.closed[near] & ~walls[near]
        drawn = search.drawn + jnp.cumsum(looked_at) - 1
        cost = search.cost[here] + costs[drawn] * UNIT
        was_open = search.open[near]
        opens = looked_at & ~was_open
        adopts = opens | (looked_at & was_open & (cost < search.cost[near]))
        at = jnp.where(opens, near, tiles)
        adopted = jnp.where(adopts, near, tiles)
        opened = search.opened + jnp.cumsum(opens)
        return search._replace(
            open=search.open.at[at].set(True, mode="drop"),
            order=search.order.at[at].set(opened, mode="drop"),
            cost=search.cost.at[at].set(cost, mode="drop"),
            total=search.total.at[at].set(cost + heuristic[near], mode="drop"),
            parent=search.parent.at[adopted].set(here, mode="drop"),
            opened=opened[-1],
            drawn=drawn[-1] + 1,
        )

    def pick(search: _Search) -> _Search:
        far = jnp.iinfo(jnp.int32).max
        first = jnp.argmin(jnp.where(search.open, search.order, far))
        better = search.open & (search.total < search.total[first])
        first_better = jnp.argmin(jnp.where(better, search.order, far))
        return search._replace(
            current=jnp.where(better.any(), first_better, first).astype(jnp.int32)
        )

    def visit(search: _Search) -> _Search:
        here = jnp.arange(tiles) == search.current
        return pick(expand(search._replace(open=search.open & ~here, closed=search.closed | here)))

    def searching(search: _Search) -> Bool[Array, ""]:
        return (search.current != goal) & search.open.any()

    none = jnp.zeros(tiles, jnp.int32)
    at_origin = jnp.arange(tiles) == origin
    start = _Search(
        open=at_origin,
        closed=jnp.zeros(tiles, bool),
        order=none,
        cost=none,
        total=none,
        parent=none - 1,
        opened=jnp.int32(0),
        drawn=jnp.int32(0),
        current=jnp.asarray(origin, jnp.int32),
    )
    parent = jax.lax.while_loop(searching, visit, start).parent
    return _trace(parent, goal)


def _trace(parent: Int[Array, " tile"], goal: Int[Array, ""]) -> Bool[Array, " tile"]:
    def back(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        tile, path = carry
        return parent[tile], path | (jnp.arange(len(path)) == tile)

    start = (jnp.asarray(goal, jnp.int32), jnp.zeros(parent.shape, bool))
    return jax.lax.while_loop(lambda carry: carry[0] >= 0, back, start)[1]


def _neighbours(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours in the order they are looked at: right, left, below, above."""
    tile = np.arange(size * size)
    x, y = tile // size, tile % size
    exists = np.stack([x < size - 1, x > 0, y < size - 1, y > 0], 1)
    step = np.array([size, -size, 1, -1])
    return np.where(exists, tile[:, None] + step, 0), exists


def _distances(size: int) -> np.ndarray:
    tile = np.arange(size * size)
    x, y = tile // size, tile % size
    squared = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    return np.round(np.sqrt(squared) * UNIT).astype(np.int32)
