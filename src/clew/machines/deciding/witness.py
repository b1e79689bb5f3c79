"""A machine that pools two given histories and still encodes: poolability, made explicit.

The machine follows two histories h and h', neither of which is a prefix of the other, and sends
both to one state. From there on it knows two cells, of which one is true, until an observation
tells them apart; everywhere else it is the belief filter. Its potential Ψ is zero except on the
first of two pooled cells, where it is their gap Δ. Rewards follow from the equation of `encodes`:

- a binding action pays what the second cell expects, and Δ is the forced gap, or, for a free
  pair, whatever was asked of it: one free successor of smaller rank is asked for the remainder;
- a non-binding action pays extra on one next observation that has two probabilities, or, where only
  the probabilities that the episode goes on differ, raises Ψ of what follows one observation.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from clew.machines.deciding.pair_graph import pair_of
from clew.machines.deciding.pairs import Pairs
from clew.machines.model.belief import Filter, Shown, expected
from clew.machines.model.reward_machine import Edge, Label, Labelling, PomdpRM, RewardMachine

MAX_STATES = 20_000
ZERO = Fraction(0)
NOWHERE = Shown(ZERO, ZERO, None)
Move = tuple[int | None, int]
"""(action, cell it leads to); the first of a path has no action."""
CellPath = tuple[Move, ...]


class Known(NamedTuple):
    """The true cell is known; Ψ is `level`."""

    cell: int
    level: Fraction = ZERO


class Along(NamedTuple):
    """So far, one of the two histories came true: `length` steps of it."""

    which: int
    length: int


class Both(NamedTuple):
    """One of two cells is true; Ψ of the second is `level`, and of the first more by `gap`."""

    first: int
    second: int
    gap: Fraction
    level: Fraction = ZERO


Knowledge = Known | Along | Both


def pooling_machine(pairs: Pairs, first: int, second: int) -> PomdpRM | None:
    """A machine that pools two poolable cells.

    None where, of a history of one and a history of the other, one is always a prefix.
    """
    paths = fork(pairs.beliefs, first, second)
    if paths is None:
        return None
    if len(paths[0]) == 1:
        # Ψ must vanish at the start: let the cell that begins an episode be the second one
        first, second, paths = second, first, (paths[1], paths[0])
    maker = _Maker(pairs, paths, Both(first, second, default_gap(pairs, first, second)))
    return maker.make()


def default_gap(pairs: Pairs, first: int, second: int) -> Fraction:
    """The forced gap, or zero where any would do."""
    of = pairs.classes.of
    return pairs.gap(of[first], of[second]) or ZERO


@dataclass
class _Maker:
    pairs: Pairs
    paths: tuple[CellPath, CellPath]
    meeting: Both
    nodes: dict[Knowledge, int] = field(default_factory=dict)
    edges: list[dict[Label, Edge]] = field(default_factory=list)

    @property
    def beliefs(self) -> Filter:
        return self.pairs.beliefs

    def make(self) -> PomdpRM | None:
        """Walk from the beginnings over all nodes that come up."""
        self.labelling = Labelling.injective(self.beliefs.pomdp)
        self.edges.append({})
        for cell, _ in self.beliefs.start:
            self._lay(0, self._beginning(cell))
        done = 0
        while done < len(self.nodes):
            if len(self.nodes) > MAX_STATES:
                return None
            for node, state in list(self.nodes.items())[done:]:
                done += 1
                self._lay(state, node)
        names = ("ι", *(self._name(node, state) for node, state in self.nodes.items()))
        machine = RewardMachine(names, tuple(self.edges), name="pooling machine")
        return PomdpRM(self.beliefs.pomdp, self.labelling, machine)

    def _state(self, node: Knowledge) -> int:
        # where the second cell begins an episode, the initial state is where they meet
        if node == self.meeting and len(self.paths[1]) == 1:
            return 0
        if node not in self.nodes:
            self.nodes[node] = len(self.edges)
            self.edges.append({})
        return self.nodes[node]

    def _beginning(self, cell: int) -> Knowledge:
        for which, path in enumerate(self.paths):
            if path[0] == (None, cell):
                return self.meeting if len(path) == 1 else Along(which, 0)
        return Known(cell)

    def _lay(self, state: int, node: Knowledge) -> None:
        edges = self._both(state, node) if isinstance(node, Both) else self._one(state, node)
        self.edges[state].update(edges)

    def _one(self, state: int, node: Known | Along) -> dict[Label, Edge]:
        """One history, or a known cell: pay the mean reward, corrected by Ψ of what comes."""
        cell = node.cell if isinstance(node, Known) else self.paths[node.which][node.length][1]
        level = node.level if isinstance(node, Known) else ZERO
        observation = self.beliefs.cells[cell].observation
        edges = {}
        for action, row in enumerate(self.beliefs.rows[cell]):
            for o, way in row.shown().items():
                target, paid = state, expected(row, o) + level
                if way.after is not None:
                    onwards, rises = self._onwards(node, action, way.after)
                    target = self._state(onwards)
                    paid -= self.beliefs.pomdp.discount * rises * way.going_on / way.probability
                edges[self.labelling(observation, action, o)] = Edge(target, paid)
        return edges

    def _onwards(self, node: Known | Along, action: int, cell: int) -> tuple[Knowledge, Fraction]:
        """The next node and Ψ of arriving there."""
        if isinstance(node, Along):
            for which, path in enumerate(self.paths):
                shared = path[: node.length + 1] == self.paths[node.which][: node.length + 1]
                if (
                    shared
                    and len(path) > node.length + 1
                    and path[node.length + 1] == (action, cell)
                ):
                    if len(path) == node.length + 2:
                        return self.meeting, self.meeting.gap if which == 0 else ZERO
                    return Along(which, node.length + 1), ZERO
        return Known(cell), ZERO

    def _both(self, state: int, node: Both) -> dict[Label, Edge]:
        observation = self.beliefs.cells[node.first].observation
        edges = {}
        for action in range(len(self.beliefs.pomdp.actions)):
            for o, (target, paid) in self._answer(node, action).items():
                after = state if target is None else self._state(target)
                edges[self.labelling(observation, action, o)] = Edge(after, paid)
        return edges

    def _answer(self, node: Both, action: int) -> dict[int, tuple[Knowledge | None, Fraction]]:
        """Where each next observation leads from two pooled cells, and what it pays."""
        one, two = self.beliefs.rows[node.first][action], self.beliefs.rows[node.second][action]
        first, second = one.shown(), two.shown()
        ways = {o: (first.get(o, NOWHERE), second.get(o, NOWHERE)) for o in first | second}
        targets = {o: _meet(p.after, q.after, self.pairs) for o, (p, q) in ways.items()}
        paid = {o: node.level + (expected(two, o) if o in second else 0) for o in targets}
        gamma = self.beliefs.pomdp.discount
        rising = {o: n.gap for o, n in targets.items() if isinstance(n, Both)}
        # what is still missing on the side of the first cell
        missing = one.mean + node.gap + node.level
        for o, (p, _) in ways.items():
            missing -= p.probability * paid[o] + gamma * p.going_on * rising.get(o, 0)
        if not missing:
            return {o: (targets[o], paid[o]) for o in targets}
        seen, o = _widest({o: p.probability - q.probability for o, (p, q) in ways.items()})
        if seen:
            extra = missing / seen
            paid = {each: value - extra * ways[o][1].probability for each, value in paid.items()}
            paid[o] += extra
            return {o: (targets[o], paid[o]) for o in targets}
        ends, o = _widest({o: p.going_on - q.going_on for o, (p, q) in ways.items()})
        if ends:
            level = missing / (gamma * ends)
            paid = {each: v - gamma * ways[o][1].going_on * level for each, v in paid.items()}
            targets[o] = targets[o]._replace(level=level)  # type: ignore[union-attr]
        else:
            o = self._free_successor(node, action, rising)
            gap = rising[o] + missing / (gamma * ways[o][0].going_on)
            targets[o] = targets[o]._replace(gap=gap)  # type: ignore[union-attr]
        return {o: (targets[o], paid[o]) for o in targets}

    def _free_successor(self, node: Both, action: int, rising: dict[int, Fraction]) -> int:
        of, rank = self.pairs.classes.of, self.pairs.rank
        ranked = []
        one, two = (self.beliefs.rows[cell][action] for cell in node[:2])
        for (o, _), c, d in zip(one.law, one.after, two.after, strict=True):
            pair, _ = pair_of(of[c], of[d])
            if o in rising and pair in rank:
                ranked.append((rank[pair], o))
        return min(ranked)[1]

    def _name(self, node: Knowledge, state: int) -> str:
        if isinstance(node, Known):
            return f"b{node.cell}" + (f" ({state})" if node.level else "")
        if isinstance(node, Along):
            return f"{'hg'[node.which]}{node.length}"
        return f"b{node.first} or b{node.second}" + ("" if state == 1 else f" ({state})")


def _widest(differences: dict[int, Fraction]) -> tuple[Fraction, int]:
    """The largest difference, and the observation that it belongs to."""
    o = max(differences, key=lambda o: (abs(differences[o]), -o))
    return differences[o], o


def _meet(first: int | None, second: int | None, pairs: Pairs) -> Known | Both | None:
    """What is known once an observation has come; nothing where it is the last one."""
    if first is None or second is None or first == second:
        cell = first if first is not None else second
        return None if cell is None else Known(cell)
    return Both(first, second, default_gap(pairs, first, second))


def fork(beliefs: Filter, first: int, second: int) -> tuple[CellPath, CellPath] | None:
    """Two ways that part at some cell and lead to `first` and `second`, as short as can be."""
    to_first, to_second = distances(beliefs, first), distances(beliefs, second)
    begins: list[Move] = [(None, cell) for cell, _ in beliefs.start]
    best = _parting(begins, to_first, to_second)
    choice = None if best is None else (best[0], None, best[1:])
    for cell, rows in enumerate(beliefs.rows):
        edges: list[Move] = [(a, after) for a, row in enumerate(rows) for after in row.after]
        found = _parting(edges, to_first, to_second)
        if found is not None:
            length = found[0] + 2 * (len(beliefs.history(cell)) // 2 + 1)
            if choice is None or length < choice[0]:
                choice = (length, cell, found[1:])
    if choice is None:
        return None
    _, parting, (one, two) = choice
    shared = path_to(beliefs, parting) if parting is not None else ()
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


def path_to(beliefs: Filter, cell: int) -> CellPath:
    """The shortest path from the beginning."""
    backwards: list[Move] = []
    while (parent := beliefs.parents[cell]) is not None:
        backwards.append((parent[1], cell))
        cell = parent[0]
    return ((None, cell), *reversed(backwards))


def _parting(
    edges: list[Move], to_first: dict[int, int], to_second: dict[int, int]
) -> tuple[int, Move, Move] | None:
    """Two different edges, one towards each goal."""
    ones = sorted((to_first[e[1]], i) for i, e in enumerate(edges) if e[1] in to_first)[:2]
    twos = sorted((to_second[e[1]], i) for i, e in enumerate(edges) if e[1] in to_second)[:2]
    both = [(a + b, edges[i], edges[j]) for a, i in ones for b, j in twos if i != j]
    return min(both, key=lambda found: found[0], default=None)


def _follow(beliefs: Filter, cell: int, distance: dict[int, int]) -> CellPath:
    path: list[Move] = []
    while distance[cell]:
        action, cell = next(
            (a, after)
            for a, row in enumerate(beliefs.rows[cell])
            for after in row.after
            if distance.get(after) == distance[cell] - 1
        )
        path.append((action, cell))
    return tuple(path)
