"""Geometry: points, node outlines, Bézier curves, boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """A point or a vector; y grows downwards, as in SVG."""

    x: float
    y: float

    def plus(self, other: Point, times: float = 1.0) -> Point:
        """This point, moved by a multiple of a vector."""
        return Point(self.x + times * other.x, self.y + times * other.y)

    def minus(self, other: Point) -> Point:
        """The vector from `other` to this point."""
        return Point(self.x - other.x, self.y - other.y)

    @property
    def length(self) -> float:
        """Of the vector."""
        return math.hypot(self.x, self.y)

    @property
    def unit(self) -> Point:
        """The vector at length one; to the right if it has none."""
        n = self.length
        return Point(self.x / n, self.y / n) if n else Point(1.0, 0.0)

    @property
    def normal(self) -> Point:
        """The unit vector to the left of this one, as seen on a page."""
        return Point(self.unit.y, -self.unit.x)


@dataclass(frozen=True)
class Box:
    """An upright rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @staticmethod
    def around(centre: Point, width: float, height: float) -> Box:
        """The box of a size about a point."""
        x, y = centre
        return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def overlap(self, other: Box) -> float:
        """The area that two boxes share."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)

    def holds(self, point: Point) -> bool:
        """Whether a point lies inside."""
        return self.left < point.x < self.right and self.top < point.y < self.bottom

    def grown(self, by: float) -> Box:
        """The box with a margin."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)


@dataclass(frozen=True)
class Outline:
    """A node: all points within `radius` of a level segment. A circle if the segment is a point."""

    centre: Point
    half: float
    radius: float

    def distance(self, point: Point) -> float:
        """From the outline; negative inside."""
        dx = max(abs(point.x - self.centre.x) - self.half, 0.0)
        return math.hypot(dx, point.y - self.centre.y) - self.radius

    @property
    def box(self) -> Box:
        """The smallest box around it."""
        return Box.around(self.centre, 2 * (self.half + self.radius), 2 * self.radius)


@dataclass(frozen=True)
class Curve:
    """A cubic Bézier curve."""

    points: tuple[Point, Point, Point, Point]

    def at(self, t: float) -> Point:
        """The point at a parameter in [0, 1]."""
        a, b, c, d = self.points
        s = 1 - t
        w = (s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t)
        return Point(
            w[0] * a.x + w[1] * b.x + w[2] * c.x + w[3] * d.x,
            w[0] * a.y + w[1] * b.y + w[2] * c.y + w[3] * d.y,
        )

    def direction(self, t: float) -> Point:
        """The unit tangent."""
        return self.at(min(t + 0.01, 1.0)).minus(self.at(max(t - 0.01, 0.0))).unit

    def samples(self, n: int) -> list[Point]:
        """Points at equal parameters, both ends included."""
        return [self.at(i / n) for i in range(n + 1)]

    def part(self, start: float, end: float) -> Curve:
        """The stretch between two parameters (de Casteljau)."""
        a, b, c, d = _before(self.points, end)
        d, c, b, a = _before((d, c, b, a), 1 - start / end)
        return Curve((a, b, c, d))


def bent(start: Point, end: Point, bend: float) -> Curve:
    """A curve whose middle stands off the straight line by `bend` of its length, to the left."""
    along = end.minus(start)
    off = along.normal
    swing = 4 / 3 * bend * along.length
    return Curve((
        start,
        start.plus(along, 0.3).plus(off, swing),
        start.plus(along, 0.7).plus(off, swing),
        end,
    ))  # fmt: skip


def between(curve: Curve, source: Outline, target: Outline, gap: float) -> Curve:
    """The stretch of a curve from one outline to just before another."""
    leaves = _crossing(curve, source, 0.0, 0.0)
    arrives = _crossing(curve, target, gap, 1.0)
    return curve.part(leaves, arrives) if leaves < arrives else curve


def _before(
    points: tuple[Point, Point, Point, Point], t: float
) -> tuple[Point, Point, Point, Point]:
    a, b, c, d = points
    ab, bc, cd = (p.plus(q.minus(p), t) for p, q in ((a, b), (b, c), (c, d)))
    abc, bcd = ab.plus(bc.minus(ab), t), bc.plus(cd.minus(bc), t)
    return a, ab, abc, abc.plus(bcd.minus(abc), t)


def _crossing(curve: Curve, outline: Outline, gap: float, inside: float) -> float:
    """The parameter at which a curve is `gap` away from the outline that it starts or ends in."""
    outside = next(
        (t for i in range(1, 40) if outline.distance(curve.at(t := abs(inside - i / 40))) > gap),
        0.5,
    )
    for _ in range(30):
        middle = (inside + outside) / 2
        if outline.distance(curve.at(middle)) > gap:
            outside = middle
        else:
            inside = middle
    return outside
