"""Pictures and PNG files."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from clew.envs.canvas import BLACK, BLUE, RED, WHITE, Canvas, sheet, write_png


def read_png(path: Path) -> np.ndarray:
    """Enough of a decoder to check the encoder: RGB, unfiltered rows."""
    data = path.read_bytes()
    at, body, size = 8, b"", (0, 0)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(kind + chunk)
        if kind == b"IHDR":
            size = struct.unpack(">II", chunk[:8])
        body += chunk if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(size[1], -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


def test_png_round_trip(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    write_png(tmp_path / "a.png", image)
    np.testing.assert_array_equal(read_png(tmp_path / "a.png"), image)


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
