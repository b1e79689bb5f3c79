"""A few shapes on a picture, and GIF files: all that worlds need to show themselves."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import numpy as np

from clew.validate import BadInput, whole_number

Colour = tuple[int, int, int]

# Okabe and Ito's palette, which colour-blind people can tell apart.
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)
INK: Colour = (38, 42, 51)
PAPER: Colour = (247, 246, 242)
FAINT: Colour = (214, 214, 208)
GREY: Colour = (140, 142, 146)
ORANGE: Colour = (230, 159, 0)
SKY: Colour = (86, 180, 233)
GREEN: Colour = (0, 158, 115)
YELLOW: Colour = (240, 228, 66)
BLUE: Colour = (0, 114, 178)
RED: Colour = (213, 94, 0)
PINK: Colour = (204, 121, 167)

_SMOOTH = 3  # shapes are drawn this much larger, then averaged down


class Canvas:
    """A picture to draw on. Coordinates are pixels, x to the right and y down."""

    def __init__(self, width: int, height: int, ground: Colour = PAPER):
        self._pixels = np.empty((height * _SMOOTH, width * _SMOOTH, 3), np.float32)
        self._pixels[:] = ground

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: Colour, opacity: float = 1
    ) -> None:
        """Fill a rectangle given by its upper left corner."""
        left, top, right, bottom = (
            max(0, round(edge * _SMOOTH)) for edge in (x, y, x + width, y + height)
        )
        part = self._pixels[top:bottom, left:right]
        part += opacity * (np.array(colour, np.float32) - part)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Fill a disc given by its centre."""
        box = (x - radius, y - radius, x + radius, y + radius)
        self._paint(box, lambda px, py: (px - x) ** 2 + (py - y) ** 2 <= radius**2, colour)

    def polygon(self, corners: list[tuple[float, float]], colour: Colour) -> None:
        """Fill a convex polygon."""
        sign = 1 if _area(corners) >= 0 else -1
        edges = list(zip(corners, corners[1:] + corners[:1], strict=True))

        def inside(px: np.ndarray, py: np.ndarray) -> np.ndarray:
            sides = [(x1 - x0) * (py - y0) - (y1 - y0) * (px - x0) for (x0, y0), (x1, y1) in edges]
            return np.all([sign * side >= 0 for side in sides], axis=0)

        xs, ys = zip(*corners, strict=True)
        self._paint((min(xs), min(ys), max(xs), max(ys)), inside, colour)

    def cross(self, x: float, y: float, reach: float, width: float, colour: Colour) -> None:
        """Draw an × around a centre."""

        def inside(px: np.ndarray, py: np.ndarray) -> np.ndarray:
            across, along = px - x, py - y
            near = np.minimum(abs(across - along), abs(across + along)) <= width / 2**0.5
            return near & (np.maximum(abs(across), abs(along)) <= reach)

        self._paint((x - reach, y - reach, x + reach, y + reach), inside, colour)

    def arrow(self, x: float, y: float, reach: float, dx: int, dy: int, colour: Colour) -> None:
        """Draw a triangle that points along (dx, dy)."""
        tip = (x + reach * dx, y + reach * dy)
        left = (x - reach * 0.7 * dx - reach * 0.8 * dy, y - reach * 0.7 * dy + reach * 0.8 * dx)
        right = (x - reach * 0.7 * dx + reach * 0.8 * dy, y - reach * 0.7 * dy - reach * 0.8 * dx)
        self.polygon([tip, left, right], colour)

    def image(self) -> np.ndarray:
        """The picture as bytes, [height, width, 3]."""
        height, width = self._pixels.shape[0] // _SMOOTH, self._pixels.shape[1] // _SMOOTH
        blocks = self._pixels.reshape(height, _SMOOTH, width, _SMOOTH, 3)
        return np.round(blocks.mean((1, 3))).astype(np.uint8)

    def _paint(
        self,
        box: tuple[float, float, float, float],
        inside: Callable[[np.ndarray, np.ndarray], np.ndarray],
        colour: Colour,
    ) -> None:
        """Colour the points of a bounding box that are inside a shape."""
        left, top = (max(0, math.floor(edge * _SMOOTH)) for edge in box[:2])
        right, bottom = (max(0, math.ceil(edge * _SMOOTH)) for edge in box[2:])
        part = self._pixels[top:bottom, left:right]
        y, x = np.mgrid[top : top + part.shape[0], left : left + part.shape[1]]
        where = inside((x + 0.5) / _SMOOTH, (y + 0.5) / _SMOOTH)
        part[where] = colour


def write_gif(
    path: str | os.PathLike[str], frames: Sequence[np.ndarray], delays: Sequence[int]
) -> None:
    """Write RGB pictures of one size as a GIF that plays for ever.

    `delays` says for how many hundredths of a second each is shown; equal frames in a row become
    one that is shown for longer. All frames share one palette of at most 256 colours.
    """
    from PIL import Image

    if not len(frames) or len({frame.shape for frame in frames}) > 1:
        raise BadInput("a GIF needs at least one frame, and all of one size")
    if len(delays) != len(frames):
        raise BadInput(f"{len(frames)} frames have {len(delays)} delays; each needs one")
    waits = [10 * whole_number("delay", delay, 0, 2**16 - 1) for delay in delays]
    height, width = frames[0].shape[:2]
    tall = Image.fromarray(np.concatenate(frames)).quantize(dither=Image.Dither.NONE)
    first, *rest = (
        tall.crop((0, top, width, top + height)) for top in range(0, tall.height, height)
    )
    first.save(
        path, format="GIF", save_all=True, append_images=rest, duration=waits, loop=0, disposal=1
    )


def _area(corners: list[tuple[float, float]]) -> float:
    following = corners[1:] + corners[:1]
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(corners, following, strict=True))
