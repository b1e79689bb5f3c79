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
    # an episode begins in one state whatever is seen first; blocks that can begin one are it
    blocks = {leader[cell]: 0 for cell, _ in beliefs.start}
    names = ["ι"]
    for lead in leader:
        if lead not in blocks:
            blocks[lead] = len(names)
            names.append(f"b{lead}")
    labelling = Labelling.injective(beliefs.pomdp)
    edges: list[dict[Label, Edge]] = [{} for _ in names]
    for cell, rows in enumerate(beliefs.rows):
        edges[blocks[leader[cell]]].update(
            {
                labelling(beliefs.cells[cell].observation, action, o): Edge(
                    blocks[leader[after]], NO_REWARD
                )
                for action, row in enumerate(rows)
                for (o, _), after in zip(row.law, row.after, strict=True)
            }
        )
    machine = RewardMachine(tuple(names), tuple(edges), name="merged filter")
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
