"""One pair of histories, pooled by a machine that encodes: poolability of a pair, proved.

The decision of `pairs` says of every pair whether it is poolable; a machine proves it of one.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.machines.certificates.claims import Encodes, Pooled
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.pairs import Pairs
from clew.machines.deciding.quotient import merged_machine
from clew.machines.deciding.structure import rewarded
from clew.machines.deciding.witness import pooling_machine
from clew.machines.model.belief import Filter
from clew.machines.model.reward_machine import PomdpRM

CellAndState = tuple[int, int]
"""(cell, machine state)."""


def pooled(pairs: Pairs, first: int, second: int) -> Pooled | None:
    """A machine for two cells that nothing forces apart; None if none was found."""
    for product in _candidates(pairs, first, second):
        histories = meeting(pairs.beliefs, product, first, second)
        proof = encodes(product) if histories else None
        if histories and isinstance(proof, Encodes):
            return Pooled(proof, *histories)
    return None


def meeting(
    beliefs: Filter, product: PomdpRM, first: int, second: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Histories of two cells that lead to one machine state, if there are any."""
    parents = walk(beliefs, product)
    for cell, u in parents:
        if cell == first and (second, u) in parents:
            return _history(beliefs, parents, (first, u)), _history(beliefs, parents, (second, u))
    return None


def walk(beliefs: Filter, product: PomdpRM) -> dict[CellAndState, tuple[CellAndState, int] | None]:
    """Every cell with every machine state that it can be met in, and how it is come to."""
    initial = product.machine.initial
    found: dict[CellAndState, tuple[CellAndState, int] | None] = {
        (cell, initial): None for cell, _ in beliefs.start
    }
    frontier = list(found)
    for cell, u in frontier:  # it grows while it is walked
        seen = beliefs.cells[cell].observation
        for action, row in enumerate(beliefs.rows[cell]):
            for o, _, after in row.ways():
                place = (after, product.step(u, seen, action, o).state)
                if place not in found:
                    found[place] = ((cell, u), action)
                    frontier.append(place)
    return found


def _candidates(pairs: Pairs, first: int, second: int) -> Iterator[PomdpRM]:
    product = pooling_machine(pairs, first, second)
    if product is not None:
        yield product
    merged = rewarded(merged_machine(pairs.beliefs, first, second))
    if merged is not None:
        yield merged


def _history(
    beliefs: Filter,
    parents: dict[CellAndState, tuple[CellAndState, int] | None],
    place: CellAndState,
) -> tuple[int, ...]:
    backwards = [beliefs.cells[place[0]].observation]
    while (step := parents[place]) is not None:
        place, action = step
        backwards += [action, beliefs.cells[place[0]].observation]
    return tuple(reversed(backwards))
