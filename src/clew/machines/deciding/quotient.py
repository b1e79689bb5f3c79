"""The belief filter with cells merged, and every other merge that this forces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.deciding.pair_graph import pair_of
from clew.machines.deciding.pairs import Pairs
from clew.machines.model.belief import Filter
from clew.machines.model.reward_machine import Edge, Label, Labelling, PomdpRM, RewardMachine

NO_REWARD = Fraction(0)
Word = tuple[int, int, int]
"""(observation, action, next observation)."""


def merged_machine(beliefs: Filter, first: int, second: int) -> PomdpRM:
    """A machine structure (it pays nothing yet) that pools two cells with one observation."""
    blocks = Blocks.of(beliefs)
    blocks.merge(first, second)
    return blocks.structure(beliefs, "merged filter")


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
            [
                {
                    (beliefs.cells[cell].observation, action, o): after
                    for action, row in enumerate(rows)
                    for o, _, after in row.ways()
                }
                for cell, rows in enumerate(beliefs.rows)
            ],
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
