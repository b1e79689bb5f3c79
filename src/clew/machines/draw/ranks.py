"""Where the states stand: in columns by their distance from the initial one, the ends last."""

from __future__ import annotations

from collections import defaultdict

from clew.machines.draw.curves import Outline, Point
from clew.machines.draw.scene import Scene
from clew.machines.draw.typeset import LINE, SIZE, width

RADIUS = 21.0
SWEEPS = 8


def place(scene: Scene, roominess: float) -> list[Outline]:
    """An outline for every state; more roominess makes more space between them."""
    columns = _order(scene, _columns(scene))
    rise = _rows(scene, columns, roominess)
    halves = [max(width(line) / 2 + 5 - RADIUS, 0.0) for line in scene.states]
    gaps = _gaps(scene, columns, roominess)
    outlines: dict[int, Outline] = {}
    x = 0.0
    for nth, column in enumerate(columns):
        x += max(halves[u] for u in column) + (gaps[nth] if nth else 0.0)
        for u in column:
            outlines[u] = Outline(Point(x, rise[u]), halves[u], RADIUS)
        x += max(halves[u] for u in column)
    return [outlines[u] for u in range(len(scene.states))]


def _columns(scene: Scene) -> list[list[int]]:
    after: dict[int, list[int]] = defaultdict(list)
    for arrow in scene.arrows:
        after[arrow.source].append(arrow.target)
    depth = {scene.initial: 0}
    queue = [scene.initial]
    for u in queue:
        for v in after[u]:
            if v not in depth:
                depth[v] = depth[u] + 1
                queue.append(v)
    last = max((d for u, d in depth.items() if u not in scene.terminal), default=0)
    columns: dict[int, list[int]] = defaultdict(list)
    for u in range(len(scene.states)):
        # what is never reached stands at the left, below the rest
        columns[last + 1 if u in scene.terminal else depth.get(u, 0)].append(u)
    return [columns[d] for d in sorted(columns)]


def _neighbours(scene: Scene) -> dict[int, list[int]]:
    near: dict[int, list[int]] = defaultdict(list)
    for arrow in scene.arrows:
        if arrow.source != arrow.target:
            near[arrow.source].append(arrow.target)
            near[arrow.target].append(arrow.source)
    return near


def _order(scene: Scene, columns: list[list[int]]) -> list[list[int]]:
    """Sort every column by where its neighbours stand, to and fro, until lines cross less."""
    near = _neighbours(scene)
    for sweep in range(SWEEPS):
        rank = {u: i - len(c) / 2 for c in columns for i, u in enumerate(c)}
        for column in columns if sweep % 2 else columns[::-1]:
            others = {u: [rank[v] for v in near[u] if v not in column] for u in column}
            column.sort(key=lambda u: sum(others[u]) / len(others[u]) if others[u] else rank[u])
            rank.update({u: i - len(column) / 2 for i, u in enumerate(column)})
    return columns


def _rows(scene: Scene, columns: list[list[int]], roominess: float) -> dict[int, float]:
    """Heights: near those of the neighbours, in order, and apart by what loops and labels need."""
    near = _neighbours(scene)
    looping = {a.source: len(a.lines) for a in scene.arrows if a.source == a.target}
    apart = {
        u: (3.6 * RADIUS + (RADIUS + looping[u] * SIZE * LINE if u in looping else 0)) * roominess
        for u in range(len(scene.states))
    }
    rise: dict[int, float] = {}
    for column in columns:
        top = -sum(apart[u] for u in column[1:]) / 2
        for i, u in enumerate(column):
            top += apart[u] if i else 0.0
            rise[u] = top
    for sweep in range(SWEEPS):
        for column in columns[1:] if sweep % 2 else columns[::-1][1:]:
            wish = {
                u: sum(rise[v] for v in near[u]) / len(near[u]) if near[u] else rise[u]
                for u in column
            }
            _settle(column, wish, apart, rise)
    return rise


def _settle(
    column: list[int], wish: dict[int, float], apart: dict[int, float], rise: dict[int, float]
) -> None:
    """Heights in order and apart, with the wishes' mean."""
    low = float("-inf")
    for u in column:
        rise[u] = max(wish[u], low)
        low = rise[u] + apart[column[min(column.index(u) + 1, len(column) - 1)]]
    shift = sum(wish[u] - rise[u] for u in column) / len(column)
    for u in column:
        rise[u] += shift


def _gaps(scene: Scene, columns: list[list[int]], roominess: float) -> list[float]:
    """The space before each column: as wide as the labels between it and the one before."""
    column_of = {u: nth for nth, column in enumerate(columns) for u in column}
    gaps = [4.2 * RADIUS] * len(columns)
    for arrow in scene.arrows:
        low, high = sorted((column_of[arrow.source], column_of[arrow.target]))
        wide = max(width(line) for line in arrow.lines) + 3.6 * RADIUS
        if high == low + 1:
            gaps[high] = max(gaps[high], wide)
    return [gap * roominess for gap in gaps]
