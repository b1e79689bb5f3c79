"""Classes of cells that no future tells apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.model.belief import Filter, grouped


@dataclass(frozen=True)
class Classes:
    """Cells that no future tells apart: the coarsest bisimulation of the belief filter.

    Two cells of one class have the same laws of observations and the same expected rewards after
    every word of actions. Pairs are decided on classes, because there are fewer of them. A cell on
    the frontier of a filter that is not finite has no laws, and is a class of its own.
    """

    of: tuple[int, ...]
    """The class of each cell."""
    members: tuple[tuple[int, ...], ...]
    observation: tuple[int, ...]
    law: tuple[tuple[int, ...], ...]
    """[class][action]: a number for Pr(o', over | class, action); nothing for the frontier."""
    mean: tuple[tuple[Fraction, ...], ...]
    after: tuple[tuple[dict[int, int], ...], ...]
    """[class][action]: o' → class."""
    chances: tuple[dict[int, Fraction], ...]
    """[law]: o' → probability that it is shown and the episode goes on."""


def classes(beliefs: Filter) -> Classes:
    """Refine by what comes next until nothing changes."""
    numbers: dict[tuple, int] = {}
    law = [
        tuple(numbers.setdefault((row.law, row.last), len(numbers)) for row in rows)
        for rows in beliefs.rows
    ]
    mean = [tuple(row.mean for row in rows) for rows in beliefs.rows]
    frontier = [("frontier", i) for i in range(len(beliefs.rows), len(beliefs.cells))]
    next_steps = [(beliefs.cells[i].observation, *law[i], *mean[i]) for i in range(len(law))]
    now = _numbered([*next_steps, *frontier])
    while True:
        next_steps = [
            (now[i], *(tuple(now[j] for j in row.after) for row in rows))
            for i, rows in enumerate(beliefs.rows)
        ]
        finer = _numbered([*next_steps, *frontier])
        if max(finer) == max(now):
            break
        now = finer
    members = grouped(now)
    lead = [some[0] for some in members]
    rows = [beliefs.rows[i] if i < len(law) else () for i in lead]
    return Classes(
        of=tuple(now),
        members=tuple(map(tuple, members)),
        observation=tuple(beliefs.cells[i].observation for i in lead),
        law=tuple(law[i] if i < len(law) else () for i in lead),
        mean=tuple(mean[i] if i < len(law) else () for i in lead),
        after=tuple(tuple({o: now[j] for o, _, j in row.ways()} for row in some) for some in rows),
        chances=tuple(dict(law) for law, _ in numbers),
    )


def _numbered(signatures: Iterable[Hashable]) -> list[int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(signature, len(number)) for signature in signatures]
