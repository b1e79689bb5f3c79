"""The company an arrow keeps: the other arrows, their labels and the states, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clew.machines.draw.curves import Box, Outline
from clew.machines.draw.routes import Spot, Track

Array = np.ndarray


class Company:
    """What curves and labels should keep clear of."""

    def __init__(self, outlines: Sequence[Outline], tracks: Iterable[Track], spots: Iterable[Spot]):
        tracks = list(tracks)
        self.points = np.concatenate([np.zeros((0, 2)), *(track.array for track in tracks)])
        pieces = (segments(track.coarse) for track in tracks)
        self.segments = np.concatenate([np.zeros((0, 4)), *pieces])
        self.labels = boxes(spot.box for spot in spots)
        self.states = boxes(outline.box for outline in outlines)

    def crossings(self, pieces: Array) -> Array:
        """How often each of some segments crosses the other arrows."""
        mine, theirs = pieces[:, None, :], self.segments[None, :, :]
        a, b, c, d = mine[..., :2], mine[..., 2:], theirs[..., :2], theirs[..., 2:]
        apart = _side(a, b, c) * _side(a, b, d) < 0
        return np.count_nonzero(apart & (_side(c, d, a) * _side(c, d, b) < 0), 1)

    def close(self, points: Array, clearance: float) -> int:
        """How many of the points are near another arrow."""
        if not len(self.points):
            return 0
        (x, y), (others_x, others_y) = points.T, self.points.T
        gaps = np.abs(x[:, None] - others_x) + np.abs(y[:, None] - others_y)
        return int(np.count_nonzero(gaps.min(1) < clearance))

    def on_labels(self, points: Array) -> int:
        """How many of the points lie on labels."""
        return int(inside(points, grown(self.labels, 2.0)).sum())

    def overlap(self, some: Array) -> Array:
        """The area of labels and states that each of some boxes covers."""
        others = np.concatenate((self.labels, self.states))[None, :, :]
        mine = some[:, None, :]
        size = np.minimum(mine[..., 2:], others[..., 2:]) - np.maximum(
            mine[..., :2], others[..., :2]
        )
        return np.maximum(size, 0).prod(-1).sum(1)


def boxes(some: Iterable[Box]) -> Array:
    """Boxes as rows."""
    rows = [(box.left, box.top, box.right, box.bottom) for box in some]
    return np.array(rows, float).reshape(-1, 4)


def grown(some: Array, by: float) -> Array:
    """Boxes with a margin."""
    return some + np.array((-by, -by, by, by))


def inside(points: Array, some: Array) -> Array:
    """How many points lie in each of some boxes."""
    left, top, right, bottom = some.T[:, :, None]
    x, y = points.T
    return np.count_nonzero((left < x) & (x < right) & (top < y) & (y < bottom), 1)


def segments(line: Sequence[tuple[float, float]]) -> Array:
    """The pieces of a polyline, as rows of two points."""
    points = np.array(line, float)
    return np.concatenate((points[:-1], points[1:]), 1)


def _side(p: Array, q: Array, r: Array) -> Array:
    """On which side of the line from p to q a point lies."""
    along, away = q - p, r - p
    return along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0]
