"""What the agent of MysteryPath-Grid looks like: pixels, exactly as the original draws them.

The arrays have the original's axes (x, y, channel); the art below is as one sees it.
"""

from __future__ import annotations

import numpy as np

TILE = 12

_COLOURS = {"o": (250, 204, 153), "#": (50, 50, 50), "x": (255, 0, 0)}

# Facing north: a round body, two hands in front.
_AGENT = """
    .##.oooo.##.
    ####oooo####
    ####oooo####
    .##oooooo##.
    oooooooooooo
    oooooooooooo
    oooooooooooo
    oooooooooooo
    .oooooooooo.
    ..oooooooo..
    ...oooooo...
    ....oooo....
"""
# Laid over the agent in the frame in which it falls.
_CROSS = """
    ............
    .xx......xx.
    .xxx....xxx.
    ..xxx..xxx..
    ...xxxxxx...
    ....xxxx....
    ....xxxx....
    ...xxxxxx...
    ..xxx..xxx..
    .xxx....xxx.
    .xx......xx.
    ............
"""


def _pixels(art: str) -> np.ndarray:
    rows = art.split()
    return np.array([[_COLOURS.get(c, (0, 0, 0)) for c in row] for row in rows], np.uint8)


def _sprites() -> np.ndarray:
    agent, cross = _pixels(_AGENT), _pixels(_CROSS)
    sprites = np.zeros((4, 2, TILE, TILE, 3), np.uint8)
    for heading in range(4):
        turned = np.rot90(agent, heading)
        fallen = np.where(cross.any(-1, keepdims=True), cross, turned)
        sprites[heading] = turned.swapaxes(0, 1), fallen.swapaxes(0, 1)
    return sprites


SPRITES = _sprites()
"""By heading (north, west, south, east) and whether the agent has just fallen."""
