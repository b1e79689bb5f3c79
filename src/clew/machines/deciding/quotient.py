"""The belief filter with cells merged, and every other merge that this forces."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.deciding.pair_graph import pair_of
from clew.machines.deciding.pairs import Pairs
from clew.machines.model.belief import Filter
from clew.machines.model.reward_machine import Edge, Label, Labelling, PomdpRM, RewardMachine

NO_REWARD = Fraction(0)
MAX_STATES = 2_000
LOOPS = 3
Word = tuple[int, int, int]
"""(observation, action, next observation)."""


def merged_machine(beliefs: Filter, first: int, second: int) -> PomdpRM:
    """A machine structure (it pays nothing yet) that pools two cells with one observation."""
    blocks = Blocks.of(beliefs)
    blocks.merge(first, second)
    return blocks.structure(beliefs, "merged filter")


def looped_machines(beliefs: Filter, first: int, second: int) -> Iterator[PomdpRM]:
    """Structures that pool a cell with one that it leads to, along one word.

    Whoever pools h with h w goes around a loop: h w w ends there too. Only the cells along
    that loop are pooled, by sets; every other word leaves it. Where the second cell leads back to
    itself, longer loops pool fewer cells.
    """
    for here, there in ((first, second), (second, first)):
        word, again = _word(beliefs, here, there), _word(beliefs, there, there)
        for repeated in range(LOOPS if again else 1) if word else ():
            found = _Loop(beliefs, here, there, (*word, *(again or ()) * repeated)).structure()
            if found is not None:
                yield found


def _word(beliefs: Filter, here: int, there: int) -> tuple[Word, ...]:
    """The shortest word that leads from one cell to another; none if there is none."""
    found: dict[int, tuple[Word, ...]] = {}
    queue: deque[tuple[int, tuple[Word, ...]]] = deque([(here, ())])
    while queue and there not in found:
        cell, so_far = queue.popleft()
        for word, after in _words(beliefs, cell).items():
            if after not in found:
                found[after] = (*so_far, word)
                queue.append((after, found[after]))
    return found.get(there, ())


def _words(beliefs: Filter, cell: int) -> dict[Word, int]:
    """Where each (observation, action, next observation) leads."""
    seen = beliefs.cells[cell].observation
    rows = beliefs.rows[cell] if cell < len(beliefs.rows) else ()  # nothing is known of a frontier
    return {
        (seen, action, o): after for action, row in enumerate(rows) for o, _, after in row.ways()
    }


Node = tuple[int | None, frozenset[int]]
"""(place in the loop, cells); no place off the loop, where the cells may be one."""


class _Loop:
    """The subset construction, except that one word leads around a loop."""

    def __init__(self, beliefs: Filter, here: int, there: int, word: tuple[Word, ...]):
        self.beliefs, self.here, self.word = beliefs, here, word
        loop = [set[int]() for _ in word]
        loop[0] |= {here, there}
        before = None
        while before != (before := [len(cells) for cells in loop]):
            for place, step in enumerate(word):
                loop[(place + 1) % len(word)] |= self._after(loop[place], step)
        self.loop: list[Node] = [(i, frozenset(cells)) for i, cells in enumerate(loop)]

    def _after(self, cells: Iterable[int], word: Word) -> set[int]:
        ways = (_words(self.beliefs, cell) for cell in cells)
        return {way[word] for way in ways if word in way}

    def _target(self, node: Node, word: Word) -> Node:
        place, cells = node
        if place is not None and word == self.word[place]:
            return self.loop[(place + 1) % len(self.word)]
        after = frozenset(self._after(cells, word))
        return self.loop[0] if after == {self.here} else (None, after)

    def structure(self) -> PomdpRM | None:
        """The machine; None if it would be too large."""
        beliefs, labelling = self.beliefs, Labelling.injective(self.beliefs.pomdp)
        begins = frozenset(cell for cell, _ in beliefs.start)
        first: Node = self.loop[0] if self.here in begins else (None, begins)
        nodes: dict[Node, int] = {first: 0}
        edges: list[dict[Label, Edge]] = []
        for node in (queue := [first]):  # it grows while it is walked
            cells = node[1] | begins if node is first else node[1]
            row: dict[Label, Edge] = {}
            for word in sorted({w for cell in cells for w in _words(beliefs, cell)}):
                target = self._target((node[0], cells), word)
                if target not in nodes:
                    nodes[target] = len(nodes)
                    queue.append(target)
                row[labelling(*word)] = Edge(nodes[target], NO_REWARD)
            edges.append(row)
            if len(nodes) > MAX_STATES:
                return None
        names = tuple(f"u{i}" for i in range(len(nodes)))
        return PomdpRM(
            beliefs.pomdp, labelling, RewardMachine(names, tuple(edges), name="looped filter")
        )


def compressed_machine(pairs: Pairs) -> PomdpRM:
    """A structure with few states, none of which pools two cells that must be kept apart.

    Cells are visited in the order of their histories; each joins the first kept block that it
    can, or is kept itself (as in state-merging inference of automata). Whether rewards make the
    result an encoder is for `admits` to say.
    """
    beliefs = pairs.beliefs
    blocks = Blocks.of(beliefs)
    kept: list[int] = []
    for cell in range(len(beliefs.cells)):
        if blocks.find(cell) in {blocks.find(other) for other in kept}:
            continue
        for other in kept:
            trial = blocks.copy()
            if all(_allowed(pairs, one, two) for one, two in trial.merge(other, cell)):
                blocks = trial
                break
        else:
            kept.append(cell)
    return blocks.structure(beliefs, "compressed filter")


def _allowed(pairs: Pairs, some: frozenset[int], others: frozenset[int]) -> bool:
    """Whether two blocks may become one."""
    of, seen = pairs.classes.of, pairs.classes.observation
    left, right = {of[cell] for cell in some}, {of[cell] for cell in others}
    return not any(
        pair_of(c, d)[0] in pairs.route for c in left for d in right if seen[c] == seen[d]
    )


@dataclass
class Blocks:
    """A partition of cells that is kept compatible with the filter's transitions (union-find)."""

    leader: list[int]
    members: list[frozenset[int]]
    after: list[dict[Word, int]]

    @staticmethod
    def of(beliefs: Filter) -> Blocks:
        """Every cell by itself, but all that begin an episode in one block: x₀ = u₀."""
        blocks = Blocks(
            list(range(len(beliefs.cells))),
            [frozenset([cell]) for cell in range(len(beliefs.cells))],
            [_words(beliefs, cell) for cell in range(len(beliefs.cells))],
        )
        begins = [cell for cell, _ in beliefs.start]
        for cell in begins[1:]:
            blocks.merge(begins[0], cell)
        return blocks

    def copy(self) -> Blocks:
        """A partition to try things on."""
        return Blocks(list(self.leader), list(self.members), list(self.after))

    def find(self, cell: int) -> int:
        """The cell that stands for a block."""
        while self.leader[cell] != cell:
            cell = self.leader[cell]
        return cell

    def merge(self, first: int, second: int) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Make two blocks one, and all that a common word leads to; returns what was joined."""
        return list(self._merging([(first, second)]))

    def _merging(
        self, work: list[tuple[int, int]]
    ) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
        while work:
            one, two = (self.find(cell) for cell in work.pop())
            if one == two:
                continue
            yield self.members[one], self.members[two]
            self.leader[two] = one
            self.members[one] |= self.members[two]
            joined = dict(self.after[one])
            for word, cell in self.after[two].items():
                if word in joined:
                    work.append((joined[word], cell))
                else:
                    joined[word] = cell
            self.after[one] = joined

    def structure(self, beliefs: Filter, name: str) -> PomdpRM:
        """The partition as a machine without rewards."""
        begin = self.find(beliefs.start[0][0])
        leads = [begin, *(c for c in range(len(self.leader)) if self.find(c) == c != begin)]
        number = {lead: place for place, lead in enumerate(leads)}
        labelling = Labelling.injective(beliefs.pomdp)
        edges: list[dict[Label, Edge]] = [
            {
                labelling(*word): Edge(number[self.find(cell)], NO_REWARD)
                for word, cell in self.after[lead].items()
            }
            for lead in leads
        ]
        machine = RewardMachine(tuple(f"u{i}" for i in range(len(leads))), tuple(edges), name=name)
        return PomdpRM(beliefs.pomdp, labelling, machine)
