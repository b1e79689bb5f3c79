"""MysteryPath as a person would want to see it: the path too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.envs.canvas import BLUE, FAINT, GREEN, INK, ORANGE, RED, SKY, WHITE, Canvas

if TYPE_CHECKING:
    from clew.envs.worlds.mystery_path.world import PathState

TILE = 32
MARGIN = 6
_HEADINGS = ((0, -1), (-1, 0), (0, 1), (1, 0))


def draw(size: int, state: PathState) -> np.ndarray:
    """The path in white, walked on in sky blue; origin blue, goal green; falls so far crossed."""
    side = size * TILE + 2 * MARGIN
    canvas = Canvas(side, side, INK)
    tested, path = np.asarray(state.tested), np.asarray(state.level.path)
    here, off = int(state.tile), bool(state.off)
    for tile in range(size * size):
        x, y = MARGIN + tile // size * TILE, MARGIN + tile % size * TILE
        colour = (70, 75, 86)
        if path[tile]:
            colour = SKY if tested[tile] else FAINT
        if tile == int(state.level.origin):
            colour = BLUE
        if tile == int(state.level.goal):
            colour = GREEN
        canvas.rectangle(x + 1, y + 1, TILE - 2, TILE - 2, colour)
        if tested[tile] and not path[tile]:
            canvas.cross(x + TILE / 2, y + TILE / 2, TILE * 0.3, 3, RED)
    x, y = (MARGIN + (step + 0.5) * TILE for step in divmod(here, size))
    canvas.disc(x, y, TILE * 0.4, RED if off else ORANGE)
    canvas.arrow(x, y, TILE * 0.26, *_HEADINGS[int(state.heading)], WHITE if off else INK)
    return canvas.image()
