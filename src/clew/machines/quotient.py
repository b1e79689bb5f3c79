"""The belief filter with two cells made one, and whatever else that forces together."""

from __future__ import annotations

from fractions import Fraction

from clew.machines.belief import Filter
from clew.machines.machine import Edge, Label, Labelling, RewardMachine
from clew.machines.product import PomdpRM

NO_REWARD = Fraction(0)


def merged_machine(beliefs: Filter, first: int, second: int) -> PomdpRM:
    """A machine structure (it pays nothing yet) that pools two cells with one observation."""
    leader = _congruence(beliefs, first, second)
    blocks = {lead: place + 1 for place, lead in enumerate(dict.fromkeys(leader))}
    labelling = Labelling.injective(beliefs.pomdp)
    edges: list[dict[Label, Edge]] = [{} for _ in range(len(blocks) + 1)]
    begins = {cell for cell, _ in beliefs.start}
    for cell, rows in enumerate(beliefs.rows):
        observation = beliefs.cells[cell].observation
        row_edges = {
            labelling(observation, action, o): Edge(blocks[leader[after]], NO_REWARD)
            for action, row in enumerate(rows)
            for (o, _), after in zip(row.law, row.after, strict=True)
        }
        edges[blocks[leader[cell]]].update(row_edges)
        if cell in begins:
            edges[0].update(row_edges)
    names = ("ι", *(f"b{lead}" for lead in blocks))
    machine = RewardMachine(names, tuple(edges), name="merged filter")
    return PomdpRM(beliefs.pomdp, labelling, machine)


def _congruence(beliefs: Filter, first: int, second: int) -> list[int]:
    """Union-find: whoever is pooled stays pooled after every common word."""
    leader = list(range(len(beliefs.cells)))

    def find(cell: int) -> int:
        while leader[cell] != cell:
            leader[cell] = leader[leader[cell]]
            cell = leader[cell]
        return cell

    after: list[dict[tuple[int, int], int]] = [
        {
            (action, o): cell
            for action, row in enumerate(rows)
            for (o, _), cell in zip(row.law, row.after, strict=True)
        }
        for rows in beliefs.rows
    ]
    work = [(first, second)]
    while work:
        one, two = (find(cell) for cell in work.pop())
        if one == two:
            continue
        leader[two] = one
        for word, cell in after[two].items():
            if word in after[one]:
                work.append((after[one][word], cell))
            else:
                after[one][word] = cell
    return [find(cell) for cell in range(len(leader))]
