"""A machine laid out: everything that a page has to show, in the order it is painted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.machines.draw.curves import Box, Curve, Outline, Point
from clew.machines.draw.ranks import place
from clew.machines.draw.routes import HEAD
from clew.machines.draw.scene import Scene, scene
from clew.machines.draw.settle import Settled, settle
from clew.machines.model.reward_machine import RewardMachine

ROOMINESS = (1.0, 1.2, 1.45, 1.75, 2.2)
ROOM = 20.0
"""What it costs, for each arrow, to make a picture twice as large."""
FEW, MANY = 30, 60
"""Arrows: with more than a few, less is tried; with many, once: that is a map and no figure."""
MARGIN = 10.0
ENTRY = 30.0
"""Length of the arrow that points at the initial state."""


@dataclass(frozen=True)
class Picture:
    """A scene with a place for everything in it."""

    scene: Scene
    outlines: tuple[Outline, ...]
    curves: tuple[Curve, ...]
    labels: tuple[Box, ...]
    entry: Curve
    frame: Box


def picture(machine: RewardMachine) -> Picture:
    """Lay a machine out; where labels would lie on each other, with more room."""
    drawn = scene(machine)
    best = min(_tries(drawn), key=lambda attempt: attempt[0])[1]
    order = range(len(drawn.arrows))
    curves, labels = [best.tracks[i].curve for i in order], [best.spots[i].box for i in order]
    entry = _entry(best.outlines[drawn.initial])
    frame = _frame([*(o.box for o in best.outlines), *labels], [*curves, entry])
    return Picture(drawn, tuple(best.outlines), tuple(curves), tuple(labels), entry, frame)


def _tries(drawn: Scene) -> Iterable[tuple[float, Settled]]:
    """Layouts and what is wrong with each; more room is tried until nothing lies on anything."""
    size = len(drawn.arrows)
    for nth, roominess in enumerate(ROOMINESS if size <= FEW else ROOMINESS[1::2]):
        clear = False
        for longest_first in (False, True) if size <= FEW else (False,):
            rounds = 3 if size <= MANY else 1
            settled = settle(drawn, place(drawn, roominess), longest_first, rounds)
            trouble = settled.trouble()
            clear = clear or not trouble
            yield 20 * trouble + settled.cost() + ROOM * size * roominess, settled
        if (clear and nth >= 1) or size > MANY:
            return


def head(curve: Curve) -> tuple[Point, Point, Point, Point]:
    """The arrow head at the end of a curve: tip, barb, notch, barb."""
    end, way = curve.points[3], curve.direction(1.0)
    tip = end.plus(way, HEAD)
    barbs = [end.plus(way, -1.0).plus(way.normal, side * HEAD * 0.42) for side in (1, -1)]
    return tip, barbs[0], end.plus(way, 1.5), barbs[1]


def _entry(outline: Outline) -> Curve:
    end = outline.centre.plus(Point(-outline.half - outline.radius - HEAD, 0.0))
    start = end.plus(Point(HEAD - ENTRY, 0.0))
    return Curve((start, start, end, end))


def _frame(boxes: list[Box], curves: list[Curve]) -> Box:
    points = [point for curve in curves for point in curve.samples(20)]
    return Box(
        min([box.left for box in boxes] + [p.x for p in points]),
        min([box.top for box in boxes] + [p.y for p in points]),
        max([box.right for box in boxes] + [p.x for p in points]),
        max([box.bottom for box in boxes] + [p.y for p in points]),
    ).grown(MARGIN)
