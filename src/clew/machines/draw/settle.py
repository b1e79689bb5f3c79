"""A curve and a place for the label of every arrow, each chosen knowing the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from clew.machines.draw.curves import Box, Outline, crossings
from clew.machines.draw.routes import Spot, Track, spots, tracks
from clew.machines.draw.scene import Arrow, Scene

T = TypeVar("T")

CLEARANCE = 9.0
ROUNDS = 3
CROSSING, ON_LABEL, ON_LINE, NEAR_LINE = 30.0, 30.0, 20.0, 4.0
"""The cost of two lines that cross, and for each point of an arrow: its being on a label, a label
being on it, and a label of another arrow being near it."""


class Settled:
    """What has been chosen, by arrow: a track, and a spot for its label."""

    def __init__(self, scene: Scene, outlines: Sequence[Outline]):
        self.scene, self.outlines = scene, outlines
        self.tracks: dict[int, Track] = {}
        self.spots: dict[int, Spot] = {}
        self.tastes: dict[int, float] = {}
        present = {(arrow.source, arrow.target) for arrow in scene.arrows}
        self._options = [
            tracks(
                arrow,
                outlines,
                mutual=(arrow.target, arrow.source) in present,
                entry=arrow.source == scene.initial,
            )
            for arrow in scene.arrows
        ]

    def trouble(self) -> float:
        """Labels on labels, states or arrows, and arrows on states: none of it in a good one."""
        return sum(
            self._in_the_way(i, self.spots[i].box, self.tracks[i])
            + self._through_states(self.tracks[i], arrow)
            for i, arrow in enumerate(self.scene.arrows)
        )

    def cost(self) -> float:
        """Everything that is not liked about it."""
        return sum(
            self.tastes[i] + self._both(i, arrow, self.tracks[i], self.spots[i])
            for i, arrow in enumerate(self.scene.arrows)
        )

    def choose(self, i: int) -> None:
        """The best curve for an arrow, and then the best place for its label."""
        arrow = self.scene.arrows[i]
        source = self.outlines[arrow.source]
        if arrow.source == arrow.target:
            # a loop and its label go together
            (self.tracks[i], self.spots[i]), self.tastes[i] = _best(
                ((track, spot), taste + dislike, lambda pair: self._both(i, arrow, *pair))
                for track, taste in self._options[i]
                for spot, dislike in spots(arrow, source, track.curve)
            )
            return
        track, taste = _best(
            (track, taste, lambda track: self._route(i, track, arrow))
            for track, taste in self._options[i]
        )
        spot, dislike = _best(
            (spot, dislike, lambda spot: self._label(i, spot, track))
            for spot, dislike in spots(arrow, source, track.curve)
        )
        self.tracks[i], self.spots[i], self.tastes[i] = track, spot, taste + dislike

    def _both(self, i: int, arrow: Arrow, track: Track, spot: Spot) -> float:
        return self._route(i, track, arrow) + self._label(i, spot, track)

    def _route(self, i: int, track: Track, arrow: Arrow) -> float:
        cost = 12 * self._through_states(track, arrow)
        for j, rival in self.tracks.items():
            if j == i or not _near(track.box, rival.box):
                continue
            cost += CROSSING * crossings(track.coarse, rival.coarse)
            close = (
                min(abs(p.x - q.x) + abs(p.y - q.y) for q in rival.points) < CLEARANCE
                for p in track.points[3:-3:2]
            )
            cost += 10 * sum(close)
        for j, spot in self.spots.items():
            if j != i and _near(track.box, spot.box):
                cost += ON_LABEL * sum(map(spot.box.grown(2.0).holds, track.points))
        return cost

    def _through_states(self, track: Track, arrow: Arrow) -> float:
        cost = 0.0
        for u, outline in enumerate(self.outlines):
            if u not in (arrow.source, arrow.target) and _near(track.box, outline.box):
                near = min(outline.distance(point) for point in track.points)
                cost += max(CLEARANCE - near, 0.0)
        return cost

    def _label(self, i: int, spot: Spot, track: Track) -> float:
        cost = self._in_the_way(i, spot.box, track)
        # whose label it is should be plain: no other arrow is as near, none comes between
        wide = spot.box.grown(8.0)
        for j, rival in self.tracks.items():
            if j != i and _near(wide, rival.box):
                cost += NEAR_LINE * sum(map(wide.holds, rival.points))
                cost += CROSSING * crossings(spot.leader, rival.coarse)
        return cost

    def _in_the_way(self, i: int, box: Box, track: Track) -> float:
        room, tight = box.grown(2.0), box.grown(0.5)
        cost = sum(room.overlap(other.box) for j, other in self.spots.items() if j != i)
        cost += sum(room.overlap(outline.box) for outline in self.outlines)
        for line in (track, *(rival for j, rival in self.tracks.items() if j != i)):
            if _near(room, line.box):
                cost += ON_LINE * sum(map(tight.holds, line.points))
        return cost


def settle(scene: Scene, outlines: Sequence[Outline], longest_first: bool = False) -> Settled:
    """Choose for every arrow in turn, loops last, and then again."""
    settled = Settled(scene, outlines)
    arrows = scene.arrows

    def length(i: int) -> tuple[bool, float]:
        ends = [outlines[u].centre for u in (arrows[i].source, arrows[i].target)]
        long = ends[1].minus(ends[0]).length
        return arrows[i].source == arrows[i].target, -long if longest_first else long

    order = sorted(range(len(arrows)), key=length)
    for _ in range(ROUNDS):
        for i in order:
            settled.choose(i)
    return settled


def _near(one: Box, other: Box) -> bool:
    return one.grown(CLEARANCE).overlap(other.grown(0.1)) > 0


def _best(options: Iterable[tuple[T, float, Callable[[T], float]]]) -> tuple[T, float]:
    """The option with the least cost, by itself and worked out, and the former."""
    ordered = sorted(options, key=lambda option: option[1])
    best, least = ordered[0], float("inf")
    for option in ordered:
        if option[1] >= least:
            break
        total = option[1] + option[2](option[0])
        if total < least:
            best, least = option, total
    return best[0], best[1]
