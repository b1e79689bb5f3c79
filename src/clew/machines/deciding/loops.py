"""Words that can be repeated for ever, and the space of filters that every finite machine pools.

`clew.machines.certificates.loops` has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from clew.machines.certificates.claims import History, Loop
from clew.machines.exact.linear import Span
from clew.machines.model.belief import Filter, Stepper, coprime

LENGTH = 4
"""Of a word, in steps."""
CANDIDATES = 400
"""Posteriors with a word that are looked at."""
DIMENSIONS = 12
"""Of the space; a check takes time in a high power of it."""

Weights = dict[int, int]


@dataclass(frozen=True)
class Pooled:
    """A loop and a basis of what it makes every finite machine pool."""

    loop: Loop
    basis: tuple[Weights, ...]


def loops(beliefs: Filter, step: Stepper) -> Iterator[Pooled]:
    """Loops through the first posteriors, short words first, each space once."""
    seen: dict[int, list[Span]] = defaultdict(list)
    room: dict[int, set[int]] = {}
    for o, posterior in beliefs.cells:
        room.setdefault(o, set()).update(s for s, _ in posterior)
    full: set[int] = set()
    """Observations with a loop that makes machines pool everything: no other one says more."""
    for cell, word in islice(_candidates(beliefs, full), CANDIDATES):
        found = _settled(beliefs, step, cell, word)
        if found is None:
            continue
        o = beliefs.cells[cell].observation
        if not any(_spans(span, found.basis) for span in seen[o]):
            seen[o].append(Span(found.basis))
            yield found
            if len(found.basis) == len(room[o]):
                full.add(o)


def _spans(span: Span, basis: tuple[Weights, ...]) -> bool:
    return len(span) == len(basis) and all(vector in span for vector in basis)


def _candidates(beliefs: Filter, full: set[int]) -> Iterator[tuple[int, History]]:
    for length in range(1, LENGTH + 1):
        for cell in range(len(beliefs.rows)):
            for word in _words(beliefs, cell, length):
                if beliefs.cells[cell].observation not in full:
                    yield cell, word


def pushed(step: Stepper, weights: Weights, action: int, observation: int) -> Weights:
    """The filter after one step, not divided by anything."""
    after: Weights = {}
    for s, w in weights.items():
        for s2, o, _, p in step.whole[s][action]:
            if o == observation and s2 not in step.over:
                after[s2] = after.get(s2, 0) + w * p
    return after


def _words(beliefs: Filter, cell: int, length: int) -> Iterator[History]:
    """Those that lead from a cell to another one with the same observation."""
    frontier: list[tuple[History, int]] = [((), cell)]
    for _ in range(length):
        frontier = [
            ((*word, action, o), after)
            for word, here in frontier
            if here < len(beliefs.rows)
            for action, row in enumerate(beliefs.rows[here])
            for o, _, after in row.ways()
        ]
    seen = beliefs.cells[cell].observation
    for word, after in frontier:
        if after != cell and beliefs.cells[after].observation == seen:
            yield word


def _settled(beliefs: Filter, step: Stepper, cell: int, word: History) -> Pooled | None:
    """The loop with its basis; None if it comes back to a posterior, or has too many dimensions."""
    span, vectors, marks = Span(), [dict(beliefs.cells[cell].posterior)], len(step.pomdp.states)
    # each vector is marked: what is left of one that depends on others names those it depends on
    while min(rest := span.rest({**vectors[-1], marks + len(vectors): 1})) < marks:
        if len(vectors) > DIMENSIONS + 1:
            return None
        span.add(rest)
        vector = vectors[-1]
        for action, o in zip(word[::2], word[1::2], strict=True):
            vector = pushed(step, vector, action, o)
        vectors.append(coprime(vector))
    lost = min(rest) - marks - 1
    if len(vectors) - 1 - lost < 2:
        return None
    loop = Loop(beliefs.pomdp, beliefs.history(cell), word, lost)
    return Pooled(loop, tuple(vectors[lost:-1]))
