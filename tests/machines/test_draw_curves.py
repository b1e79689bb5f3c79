"""The geometry under the pictures."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from clew.machines.draw.company import Company, boxes, inside, segments
from clew.machines.draw.curves import Box, Curve, Outline, Point, bent, between
from clew.machines.draw.routes import Spot, Track

SPOTS = st.builds(Point, st.floats(-100, 100), st.floats(-100, 100))
CURVES = st.builds(Curve, st.tuples(SPOTS, SPOTS, SPOTS, SPOTS))


@given(CURVES, st.floats(0, 0.9), st.floats(0.05, 1), st.floats(0, 1))
def test_a_part_of_a_curve_runs_along_it(curve: Curve, start: float, span: float, t: float) -> None:
    end = min(start + span, 1.0)
    whole = curve.at(start + t * (end - start))
    assert curve.part(start, end).at(t).minus(whole).length < 1e-6


@given(st.floats(-1, 1), st.floats(0, 2 * math.pi), st.floats(0, 60))
def test_an_arrow_runs_between_the_outlines(bend: float, angle: float, half: float) -> None:
    source = Outline(Point(0.0, 0.0), half, 20.0)
    target = Outline(Point(300 * math.cos(angle), 300 * math.sin(angle)), half, 20.0)
    arrow = between(bent(source.centre, target.centre, bend), source, target, 9.0)
    assert abs(source.distance(arrow.at(0.0))) < 0.01
    assert abs(target.distance(arrow.at(1.0)) - 9.0) < 0.01


@given(st.floats(-1, 1))
def test_a_bend_stands_off_by_its_share(bend: float) -> None:
    middle = bent(Point(0.0, 0.0), Point(100.0, 0.0), bend).at(0.5)
    assert abs(middle.x - 50) < 1e-9
    assert abs(middle.y + 100 * bend) < 1e-9  # to the left, which is up for an arrow to the right


def _straight(start: Point, end: Point) -> Track:
    return Track(Curve((start, start, end, end)))


def test_company() -> None:
    state = Outline(Point(50.0, 50.0), 0.0, 10.0)
    label = Spot(Box(0.0, 90.0, 20.0, 100.0), Point(0.0, 0.0))
    company = Company([state], [_straight(Point(0.0, 0.0), Point(100.0, 0.0))], [label])
    across, beside = [Point(30.0, -40.0), Point(30.0, 40.0)], [Point(0.0, 5.0), Point(90.0, 5.0)]
    assert company.crossings(segments(across)).tolist() == [1]
    assert company.crossings(segments(beside)).tolist() == [0]
    assert company.close(segments(beside)[:, :2], 9.0) == 1
    assert company.on_labels(segments([Point(5.0, 95.0), Point(5.0, 80.0)])[:, :2]) == 1
    assert company.overlap(
        boxes([Box(45.0, 45.0, 47.0, 48.0), Box(18.0, 95.0, 30.0, 99.0)])
    ).tolist() == [6, 8]
    assert company.overlap(boxes([Box(200.0, 0.0, 210.0, 9.0)])).tolist() == [0]


@given(st.lists(SPOTS, min_size=1, max_size=9), SPOTS, st.floats(1, 90), st.floats(1, 90))
def test_points_in_boxes(points: list[Point], centre: Point, wide: float, high: float) -> None:
    box = Box.around(centre, wide, high)
    rows = segments([*points, centre])[:, :2]
    assert inside(rows, boxes([box])).tolist() == [sum(map(box.holds, points))]


def test_distances() -> None:
    assert Box(0, 0, 4, 4).overlap(Box(3, 2, 9, 9)) == 2
    assert Box(0, 0, 4, 4).overlap(Box(5, 5, 6, 6)) == 0
    assert Outline(Point(0, 0), 10, 5).distance(Point(20, 0)) == 5
