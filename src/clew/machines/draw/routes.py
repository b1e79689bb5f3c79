"""The ways that an arrow and its label could take, and what is wrong with each by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clew.machines.draw.curves import Box, Curve, Outline, Point, bent, between
from clew.machines.draw.scene import Arrow
from clew.machines.draw.typeset import LINE, SIZE, width

BENDS = (0.0, 0.08, 0.12, -0.12, 0.2, -0.2, 0.3, -0.3, 0.42, -0.42, 0.6, -0.6, 0.85, -0.85)
LOOPS = tuple(math.radians(d) for d in (-90, 90, -60, -120, 60, 120, -30, -150, 30, 150, 0, 180))
TURNS = tuple(math.radians(d) for d in (0, 25, -25, 50, -50, 75, -75))
ALONG = (0.5, 0.44, 0.56, 0.37, 0.63, 0.3, 0.7, 0.23, 0.77)
OFF = (3.0, 8.0, 15.0)
HEAD = 9.0
"""Length of an arrow head."""
SPACING = 9.0
"""Between the points by which a curve is judged."""


class Spot(NamedTuple):
    """A place for a label, and the point of the arrow that it stands beside."""

    box: Box
    anchor: Point

    @property
    def leader(self) -> list[Point]:
        """From the arrow to the label: nothing should come between."""
        return [
            self.anchor,
            Point((self.box.left + self.box.right) / 2, (self.box.top + self.box.bottom) / 2),
        ]


@dataclass(frozen=True)
class Track:
    """A curve, with the points by which it is judged."""

    curve: Curve

    @cached_property
    def points(self) -> list[Point]:
        """Points along the curve, the tip of the arrow head included."""
        rough = self.curve.samples(6)
        length = sum(b.minus(a).length for a, b in pairwise(rough))
        points = self.curve.samples(max(6, round(length / SPACING)))
        return [*points, points[-1].plus(self.curve.direction(1.0), HEAD)]

    @cached_property
    def coarse(self) -> list[Point]:
        """A few of them: enough to see where it crosses another."""
        return [*self.points[:-1:3], self.points[-1]]

    @cached_property
    def array(self) -> np.ndarray:
        """The points as rows."""
        return np.array(self.points, float)


def tracks(
    arrow: Arrow, outlines: Sequence[Outline], mutual: bool, entry: bool
) -> list[tuple[Track, float]]:
    """Curves for an arrow, with how little each is liked by itself."""
    source, target = outlines[arrow.source], outlines[arrow.target]
    if arrow.source == arrow.target:
        # to the left of the initial state stands the arrow that points at it
        return [
            (
                Track(loop(source, angle)),
                2.0 * nth + (60.0 if entry and math.cos(angle) < -0.6 else 0),
            )
            for nth, angle in enumerate(LOOPS)
        ]
    # two arrows between the same states keep to their left sides, apart from each other
    bends = [b for b in BENDS if b > 0] if mutual else BENDS
    return [
        (
            Track(between(bent(source.centre, target.centre, b), source, target, HEAD)),
            60 * abs(b) + 250 * b * b,
        )
        for b in bends
    ]


def loop(outline: Outline, angle: float) -> Curve:
    """A drop-shaped curve that leaves an outline about an angle and comes back."""
    ends = [_rim(outline, angle + side * 0.42) for side in (-1, 1)]
    ways = [Point(math.cos(angle + side * 0.5), math.sin(angle + side * 0.5)) for side in (-1, 1)]
    reach = outline.radius * 2.1
    whole = Curve((ends[0], ends[0].plus(ways[0], reach), ends[1].plus(ways[1], reach), ends[1]))
    return whole.part(0.0, 1 - HEAD / (5 * outline.radius))


def spots(arrow: Arrow, outline: Outline, curve: Curve) -> Iterable[tuple[Spot, float]]:
    """Places for an arrow's label, with how little each is liked by itself."""
    wide = max(width(line) for line in arrow.lines)
    high = len(arrow.lines) * SIZE * LINE

    def beside(point: Point, way: Point, gap: float) -> Spot:
        reach = abs(way.x) * wide / 2 + abs(way.y) * high / 2
        return Spot(Box.around(point.plus(way, reach + gap), wide, high), point)

    if arrow.source == arrow.target:
        tip = curve.at(0.53)
        out = tip.minus(outline.centre)
        start = math.atan2(out.y, out.x)
        for nth, turn in enumerate(TURNS):
            way = Point(math.cos(start + turn), math.sin(start + turn))
            for gap in OFF:
                yield beside(tip, way, gap), 2 * nth + gap / 2
        return
    for nth, t in enumerate(ALONG):
        point, left = curve.at(t), curve.direction(t).normal
        for gap in OFF:
            yield beside(point, left, gap), nth + gap / 2
            yield beside(point, Point(-left.x, -left.y), gap), nth + gap / 2 + 1


def _rim(outline: Outline, angle: float) -> Point:
    """The point of an outline in a direction: on its round ends, or above or below its middle."""
    way = Point(math.cos(angle), math.sin(angle))
    if abs(way.x) > 0.75:
        flat = Point(math.copysign(outline.half, way.x), 0.0)
        return outline.centre.plus(flat).plus(way, outline.radius)
    across = outline.radius * way.x
    beyond = max(abs(across) - outline.half, 0.0)
    up = math.copysign(math.sqrt(outline.radius**2 - beyond**2), way.y)
    return outline.centre.plus(Point(across, up))
