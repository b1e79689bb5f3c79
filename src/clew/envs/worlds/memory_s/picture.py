"""MiniGrid-MemoryS from above, with what the agent sees lit up."""

from __future__ import annotations

import numpy as np

from clew.envs.canvas import FAINT, GREEN, GREY, INK, ORANGE, PAPER, RED, SKY, YELLOW, Canvas
from clew.envs.worlds.memory_s.layout import (
    BALL,
    EMPTY,
    FORWARD,
    KEY,
    UNSEEN,
    WALL,
    looked_at,
    view,
)
from clew.envs.worlds.memory_s.tables import Tables

CELL = 24


def draw(tables: Tables, view_size: int, row: int, visited: np.ndarray) -> np.ndarray:
    """Walls dark; cells in view yellow; cells stood on dotted; the right choice framed green.

    Ground that cannot be reached is grey.
    """
    layout = tables.layouts[int(tables.layout[row])]
    grid, size = layout.grid, len(layout.grid)
    canvas = Canvas(size * CELL, size * CELL, PAPER)
    pose = tables.pose[row][None]
    seen = view(grid, pose, view_size)[0] != UNSEEN
    lit = {tuple(place) for place in looked_at(pose, view_size)[0][seen]}
    mine = tables.layout == tables.layout[row]
    reachable = {tuple(place) for place in tables.pose[mine, :2]}
    trodden = {tuple(place) for place in tables.pose[mine & visited[tables.cell], :2]}
    for x, y in np.ndindex(size, size):
        left, top = x * CELL, y * CELL
        ground = PAPER if (x, y) in reachable or grid[x, y] not in (EMPTY, WALL) else FAINT
        colour = GREY if grid[x, y] == WALL else ground
        canvas.rectangle(left, top, CELL, CELL, FAINT)
        canvas.rectangle(left, top, CELL - 1, CELL - 1, colour)
        if (x, y) in (layout.success, layout.failure):
            canvas.rectangle(
                left + 3, top + 3, CELL - 7, CELL - 7, GREEN if (x, y) == layout.success else RED
            )
            canvas.rectangle(left + 6, top + 6, CELL - 13, CELL - 13, PAPER)
        if (x, y) in trodden:
            canvas.disc(left + CELL / 2, top + CELL / 2, 2.5, SKY)
        if (x, y) in lit:
            canvas.rectangle(left, top, CELL - 1, CELL - 1, YELLOW, opacity=0.45)
        if grid[x, y] not in (EMPTY, WALL):
            _object(canvas, left, top, int(grid[x, y]))
    x, y, heading = (int(value) for value in tables.pose[row])
    centre = x * CELL + CELL / 2, y * CELL + CELL / 2
    dx, dy = FORWARD[heading].tolist()
    canvas.arrow(*centre, CELL * 0.42, dx, dy, ORANGE)
    return canvas.image()


def _object(canvas: Canvas, left: float, top: float, kind: int) -> None:
    x, y = left + CELL / 2, top + CELL / 2
    if kind == BALL:
        canvas.disc(x, y, CELL * 0.34, GREEN)
    elif kind == KEY:
        canvas.rectangle(x - 2, y - 2, 4, CELL * 0.42, GREEN)
        canvas.rectangle(x, y + CELL * 0.14, 6, 3, GREEN)
        canvas.rectangle(x, y + CELL * 0.3, 6, 3, GREEN)
        canvas.disc(x, y - 4, 5, GREEN)
        canvas.disc(x, y - 4, 2, INK)
