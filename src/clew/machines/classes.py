"""Cells that no future tells apart: the coarsest bisimulation of the belief filter.

Two cells of one class promise the same observations and the same expected rewards after every
word of actions. Pairs are decided on classes, because there are fewer of them. A cell on the
frontier of a filter that is not finite promises nothing, and is a class of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.belief import Filter


@dataclass(frozen=True)
class Classes:
    """The quotient of a filter: one representative cell a class."""

    of: tuple[int, ...]
    """The class of each cell."""
    members: tuple[tuple[int, ...], ...]
    observation: tuple[int, ...]
    law: tuple[tuple[int, ...], ...]
    """[class][action]: a number for Pr(o' | class, action); nothing for the frontier."""
    mean: tuple[tuple[Fraction, ...], ...]
    after: tuple[tuple[dict[int, int], ...], ...]
    """[class][action]: o' → class."""
    chances: tuple[dict[int, Fraction], ...]
    """[law]: o' → probability."""


def classes(beliefs: Filter) -> Classes:
    """Refine by what is promised next until nothing changes."""
    numbers: dict[tuple, int] = {}
    law = [
        tuple(numbers.setdefault(row.law, len(numbers)) for row in rows) for rows in beliefs.rows
    ]
    mean = [tuple(row.mean for row in rows) for rows in beliefs.rows]
    frontier = [("frontier", i) for i in range(len(beliefs.rows), len(beliefs.cells))]
    promised = [(beliefs.cells[i].observation, *law[i], *mean[i]) for i in range(len(law))]
    now = _numbered([*promised, *frontier])
    while True:
        promised = [
            (now[i], *(tuple(now[j] for j in row.after) for row in rows))
            for i, rows in enumerate(beliefs.rows)
        ]
        finer = _numbered([*promised, *frontier])
        if max(finer) == max(now):
            break
        now = finer
    members: list[list[int]] = [[] for _ in range(max(now) + 1)]
    for cell, number in enumerate(now):
        members[number].append(cell)
    lead = [some[0] for some in members]
    rows = [beliefs.rows[i] if i < len(law) else () for i in lead]
    return Classes(
        of=tuple(now),
        members=tuple(map(tuple, members)),
        observation=tuple(beliefs.cells[i].observation for i in lead),
        law=tuple(law[i] if i < len(law) else () for i in lead),
        mean=tuple(mean[i] if i < len(law) else () for i in lead),
        after=tuple(
            tuple({o: now[j] for (o, _), j in zip(row.law, row.after, strict=True)} for row in some)
            for some in rows
        ),
        chances=tuple(dict(law) for law in numbers),
    )


def _numbered(signatures: Iterable[Hashable]) -> list[int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(signature, len(number)) for signature in signatures]
