"""Words that can be repeated for ever, and the space of filters that every finite machine pools.

`clew.machines.certificates.loops` has the argument. Dimensions are counted modulo a prime here;
the check of a certificate counts them exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from clew.machines.certificates.claims import History, Loop
from clew.machines.model.belief import Filter, Stepper

PRIME = 2**61 - 1
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
    seen: set[tuple] = set()
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
        key = (o, _reduced(found.basis))
        if key not in seen:
            seen.add(key)
            yield found
            if len(found.basis) == len(room[o]):
                full.add(o)


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
    vectors = [dict(beliefs.cells[cell].posterior)]
    while (factors := _dependence(vectors)) is None:
        if len(vectors) > DIMENSIONS + 1:
            return None
        vector = vectors[-1]
        for action, o in zip(word[::2], word[1::2], strict=True):
            vector = pushed(step, vector, action, o)
        vectors.append(vector)
    lost = next((i for i, factor in enumerate(factors) if factor), None)
    if lost is None or len(factors) - lost < 2:
        return None
    loop = Loop(beliefs.pomdp, beliefs.history(cell), word, lost)
    return Pooled(loop, tuple(vectors[lost:-1]))


def _dependence(vectors: list[Weights]) -> list[int] | None:
    """The factors that make the last vector of those before; None if it is independent."""
    *before, last = vectors
    rows: list[tuple[int, Weights, list[int]]] = []

    def rest(vector: Weights, used: list[int]) -> tuple[Weights, list[int]]:
        for pivot, row, parts in rows:
            if factor := vector.get(pivot, 0):
                vector = {
                    s: value
                    for s in vector.keys() | row
                    if (value := (vector.get(s, 0) - factor * row.get(s, 0)) % PRIME)
                }
                used = [(a - factor * b) % PRIME for a, b in zip(used, parts, strict=True)]
        return vector, used

    for i, vector in enumerate(before):
        left, used = rest(_modulo(vector), [int(i == j) for j in range(len(before))])
        pivot = min(left)
        inverse = pow(left[pivot], -1, PRIME)
        scaled = {s: v * inverse % PRIME for s, v in left.items()}
        rows.append((pivot, scaled, [u * inverse % PRIME for u in used]))
    left, used = rest(_modulo(last), [0] * len(before))
    return None if left else [-u % PRIME for u in used]


def _modulo(vector: Weights) -> Weights:
    return {s: v % PRIME for s, v in vector.items() if v % PRIME}


def _reduced(basis: tuple[Weights, ...]) -> tuple:
    """One form for each space."""
    rows: dict[int, Weights] = {}
    for each in basis:
        vector = _modulo(each)
        for pivot, row in rows.items():
            vector = _less(vector, row, vector.get(pivot, 0))
        pivot = min(vector)
        inverse = pow(vector[pivot], -1, PRIME)
        vector = {s: v * inverse % PRIME for s, v in vector.items()}
        rows = {p: _less(row, vector, row.get(pivot, 0)) for p, row in rows.items()}
        rows[pivot] = vector
    return tuple(sorted((pivot, tuple(sorted(row.items()))) for pivot, row in rows.items()))


def _less(vector: Weights, row: Weights, factor: int) -> Weights:
    if not factor:
        return vector
    mixed = {s: (vector.get(s, 0) - factor * row.get(s, 0)) % PRIME for s in vector.keys() | row}
    return {s: v for s, v in mixed.items() if v}
