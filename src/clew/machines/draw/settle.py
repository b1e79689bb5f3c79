"""A curve and a place for the label of every arrow, each chosen knowing the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew.machines.draw.company import Company, boxes, grown, inside, segments
from clew.machines.draw.curves import Outline
from clew.machines.draw.routes import Spot, Track, spots, tracks
from clew.machines.draw.scene import Arrow, Scene

CLEARANCE = 9.0
CROSSING, ALONGSIDE, ON_LABEL, ON_LINE, NEAR_LINE = 30.0, 10.0, 30.0, 20.0, 4.0
"""The cost of two lines that cross, and for each point of an arrow: its being close to another
arrow or on a label, a label being on it, and a label of another arrow being near it."""


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
        middles = np.array([outline.centre for outline in outlines], float)
        self._middles, self._halves = middles, np.array([o.half for o in outlines])
        self._radius = outlines[0].radius

    def trouble(self) -> float:
        """Labels on labels, states or arrows, and arrows on states: none of it in a good one."""
        return sum(
            float(self._in_the_way(self._company(i), boxes([self.spots[i].box]), self.tracks[i])[0])
            + self._through_states(self.tracks[i], arrow)
            for i, arrow in enumerate(self.scene.arrows)
        )

    def cost(self) -> float:
        """Everything that is not liked about it."""
        total = 0.0
        for i, arrow in enumerate(self.scene.arrows):
            company, track, spot = self._company(i), self.tracks[i], self.spots[i]
            total += self.tastes[i] + self._route(company, track, arrow)
            total += float(self._labels(company, [spot], track)[0])
        return total

    def choose(self, i: int) -> None:
        """The best curve for an arrow, and then the best place for its label."""
        arrow, company = self.scene.arrows[i], self._company(i)
        # a loop and its label go together; other arrows have room for a label somewhere
        some = self._routed(company, arrow, self._options[i])
        some = some if arrow.source == arrow.target else some[:1]
        best = float("inf")
        for cost, taste, track in some:
            if cost >= best:
                break
            places = list(spots(arrow, self.outlines[arrow.source], track.curve))
            dislikes = np.array([dislike for _, dislike in places])
            costs = dislikes + self._labels(company, [spot for spot, _ in places], track)
            nth = int(costs.argmin())
            if cost + costs[nth] < best:
                best = cost + float(costs[nth])
                self.tracks[i], self.spots[i] = track, places[nth][0]
                self.tastes[i] = taste + float(dislikes[nth])

    def _routed(
        self, company: Company, arrow: Arrow, options: list[tuple[Track, float]]
    ) -> list[tuple[float, float, Track]]:
        """Curves with all that they cost, the best first; none that cannot be the best."""
        found: list[tuple[float, float, Track]] = []
        for track, taste in sorted(options, key=lambda option: option[1]):
            if arrow.source != arrow.target and found and taste >= found[0][0]:
                break
            found.append((taste + self._route(company, track, arrow), taste, track))
            found.sort(key=lambda option: option[0])
        return found

    def _company(self, i: int) -> Company:
        return Company(
            self.outlines,
            (track for j, track in self.tracks.items() if j != i),
            (spot for j, spot in self.spots.items() if j != i),
        )

    def _route(self, company: Company, track: Track, arrow: Arrow) -> float:
        cost = 12 * self._through_states(track, arrow)
        cost += CROSSING * float(company.crossings(segments(track.coarse)).sum())
        cost += ALONGSIDE * company.close(track.array[3:-3:2], CLEARANCE)
        return cost + ON_LABEL * company.on_labels(track.array)

    def _through_states(self, track: Track, arrow: Arrow) -> float:
        """How much too near a curve comes to states that it does not join."""
        away = np.abs(track.array[:, None, :] - self._middles)
        away[..., 0] = np.maximum(away[..., 0] - self._halves, 0)
        near = np.hypot(away[..., 0], away[..., 1]).min(0) - self._radius
        near[[arrow.source, arrow.target]] = CLEARANCE
        return float(np.maximum(CLEARANCE - near, 0).sum())

    def _labels(self, company: Company, some: Sequence[Spot], track: Track) -> np.ndarray:
        """What is wrong with each of some places for a label."""
        room = boxes(spot.box for spot in some)
        # whose label it is should be plain: no other arrow is as near, none comes between
        leaders = np.array([(*spot.leader[0], *spot.leader[1]) for spot in some])
        near = NEAR_LINE * inside(company.points, grown(room, 8.0))
        return self._in_the_way(company, room, track) + near + CROSSING * company.crossings(leaders)

    def _in_the_way(self, company: Company, room: np.ndarray, track: Track) -> np.ndarray:
        tight = grown(room, 0.5)
        lines = inside(company.points, tight) + inside(track.array, tight)
        return company.overlap(grown(room, 2.0)) + ON_LINE * lines


def settle(
    scene: Scene, outlines: Sequence[Outline], longest_first: bool = False, rounds: int = 3
) -> Settled:
    """Choose for every arrow in turn, loops last, and then again, knowing the rest."""
    settled = Settled(scene, outlines)
    arrows = scene.arrows

    def length(i: int) -> tuple[bool, float]:
        ends = [outlines[u].centre for u in (arrows[i].source, arrows[i].target)]
        long = ends[1].minus(ends[0]).length
        return arrows[i].source == arrows[i].target, -long if longest_first else long

    order = sorted(range(len(arrows)), key=length)
    for _ in range(rounds):
        for i in order:
            settled.choose(i)
    return settled
