"""A few shapes on a picture, and GIF files: all that worlds need to show themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

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
        self._image = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH), ground)
        self._draw = ImageDraw.Draw(self._image, "RGBA")

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: Colour, opacity: float = 1
    ) -> None:
        """Fill a rectangle given by its upper left corner."""
        left, top, right, bottom = (round(edge * _SMOOTH) for edge in (x, y, x + width, y + height))
        if left < right and top < bottom:
            box = (left, top, right - 1, bottom - 1)
            self._draw.rectangle(box, (*colour, round(255 * opacity)))

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Fill a disc given by its centre."""
        left, top, right, bottom = (
            edge * _SMOOTH for edge in (x - radius, y - radius, x + radius, y + radius)
        )
        self._draw.ellipse((left, top, right - 1, bottom - 1), colour)

    def cross(self, x: float, y: float, reach: float, width: float, colour: Colour) -> None:
        """Draw an × around a centre."""
        for rise in (-reach, reach):
            ends = (x - reach, y - rise, x + reach, y + rise)
            self._draw.line([end * _SMOOTH for end in ends], colour, round(width * _SMOOTH))

    def arrow(self, x: float, y: float, reach: float, dx: int, dy: int, colour: Colour) -> None:
        """Draw a triangle that points along (dx, dy)."""
        corners = ((1.0, 0.0), (-0.7, 0.8), (-0.7, -0.8))  # along the direction, and across it
        self._draw.polygon(
            [
                (
                    (x + reach * (a * dx - b * dy)) * _SMOOTH,
                    (y + reach * (a * dy + b * dx)) * _SMOOTH,
                )
                for a, b in corners
            ],
            colour,
        )

    def image(self) -> np.ndarray:
        """The picture as bytes, [height, width, 3]."""
        return np.asarray(self._image.reduce(_SMOOTH))


def write_gif(
    path: str | os.PathLike[str], frames: Sequence[np.ndarray], delays: Sequence[int]
) -> None:
    """Write RGB pictures of one size as a GIF that plays for ever.

    `delays` says for how many hundredths of a second each is shown; equal frames in a row become
    one that is shown for longer. All frames share one palette of at most 256 colours.
    """
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
