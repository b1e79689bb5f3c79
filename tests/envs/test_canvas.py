"""Pictures."""

from __future__ import annotations

import numpy as np

from clew.envs.canvas import BLACK, BLUE, RED, WHITE, Canvas, sheet


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


def test_sheet_lays_frames_out_in_rows() -> None:
    frames = [np.full((4, 6, 3), value, np.uint8) for value in (10, 20, 30)]
    image = sheet(frames, columns=2, gap=1)
    assert image.shape == (11, 15, 3)
    assert image[2, 2, 0] == 10
    assert image[2, 9, 0] == 20
    assert image[7, 2, 0] == 30
