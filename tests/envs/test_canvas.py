"""Pictures."""

from __future__ import annotations

import numpy as np

from clew.envs.canvas import BLACK, BLUE, RED, WHITE, Canvas


def test_shapes_are_where_they_are_said_to_be() -> None:
    canvas = Canvas(40, 30, WHITE)
    canvas.rectangle(0, 0, 10, 30, BLUE)
    canvas.disc(25, 15, 8, RED)
    canvas.disc(38, 28, 20, WHITE)  # reaches over the edge
    image = canvas.image()
    assert image.shape == (30, 40, 3)
    assert (image[:, :10] == BLUE).all()
    assert tuple(image[15, 20]) == RED
    assert tuple(image[2, 25]) == WHITE


def test_arrows_point_along_their_direction() -> None:
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        canvas = Canvas(41, 41, WHITE)
        canvas.arrow(20.5, 20.5, 15, dx, dy, BLACK)
        dark = np.argwhere((canvas.image() == BLACK).all(-1)) - 20
        along = dark @ (dy, dx)
        tip, base = dark[along == along.max()], dark[along == along.min()]
        assert len(tip) < len(base)
