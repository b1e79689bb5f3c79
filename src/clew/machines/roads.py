"""Two histories to two cells, neither of which is a prefix of the other."""

from __future__ import annotations

from collections import defaultdict, deque

from clew.machines.belief import Filter

Way = tuple[tuple[int | None, int], ...]
"""(action, cell) step by step; the first step has no action."""
Step = tuple[int | None, int]


def fork(beliefs: Filter, first: int, second: int) -> tuple[Way, Way] | None:
    """Two ways that part at some cell and lead to `first` and `second`, as short as can be."""
    to_first, to_second = distances(beliefs, first), distances(beliefs, second)
    begins: list[Step] = [(None, cell) for cell, _ in beliefs.start]
    best = _parting(begins, to_first, to_second)
    choice = None if best is None else (best[0], None, best[1:])
    for cell, rows in enumerate(beliefs.rows):
        edges: list[Step] = [(a, after) for a, row in enumerate(rows) for after in row.after]
        found = _parting(edges, to_first, to_second)
        if found is not None:
            length = found[0] + 2 * (len(beliefs.history(cell)) // 2 + 1)
            if choice is None or length < choice[0]:
                choice = (length, cell, found[1:])
    if choice is None:
        return None
    _, parting, (one, two) = choice
    shared = way_to(beliefs, parting) if parting is not None else ()
    return (
        (*shared, one, *_follow(beliefs, one[1], to_first)),
        (*shared, two, *_follow(beliefs, two[1], to_second)),
    )


def distances(beliefs: Filter, goal: int) -> dict[int, int]:
    """Steps to a cell, from every cell that can reach it."""
    before: dict[int, set[int]] = defaultdict(set)
    for cell, rows in enumerate(beliefs.rows):
        for row in rows:
            for after in row.after:
                before[after].add(cell)
    found = {goal: 0}
    queue = deque([goal])
    while queue:
        cell = queue.popleft()
        for other in before[cell]:
            if other not in found:
                found[other] = found[cell] + 1
                queue.append(other)
    return found


def way_to(beliefs: Filter, cell: int) -> Way:
    """The shortest way from the beginning."""
    backwards: list[Step] = []
    while (parent := beliefs.parents[cell]) is not None:
        backwards.append((parent[1], cell))
        cell = parent[0]
    return ((None, cell), *reversed(backwards))


def _parting(
    edges: list[Step], to_first: dict[int, int], to_second: dict[int, int]
) -> tuple[int, Step, Step] | None:
    """Two different edges, one towards each goal."""
    ones = sorted((to_first[e[1]], i) for i, e in enumerate(edges) if e[1] in to_first)[:2]
    twos = sorted((to_second[e[1]], i) for i, e in enumerate(edges) if e[1] in to_second)[:2]
    both = [(a + b, edges[i], edges[j]) for a, i in ones for b, j in twos if i != j]
    return min(both, key=lambda found: found[0], default=None)


def _follow(beliefs: Filter, cell: int, distance: dict[int, int]) -> Way:
    way: list[Step] = []
    while distance[cell]:
        action, cell = next(
            (a, after)
            for a, row in enumerate(beliefs.rows[cell])
            for after in row.after
            if distance.get(after) == distance[cell] - 1
        )
        way.append((action, cell))
    return tuple(way)
