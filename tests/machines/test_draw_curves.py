"""The geometry under the pictures."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from clew.machines.draw.curves import Box, Curve, Outline, Point, bent, between, crossings

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


def test_crossings_and_overlaps() -> None:
    one = [Point(0, 0), Point(10, 10)]
    assert crossings(one, [Point(0, 10), Point(10, 0)]) == 1
    assert crossings(one, [Point(20, 0), Point(30, 10)]) == 0
    assert Box(0, 0, 4, 4).overlap(Box(3, 2, 9, 9)) == 2
    assert Box(0, 0, 4, 4).overlap(Box(5, 5, 6, 6)) == 0
    assert Outline(Point(0, 0), 10, 5).distance(Point(20, 0)) == 5
