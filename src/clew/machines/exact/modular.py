"""Sparse systems: eliminated modulo a prime, lifted p-adically, checked exactly.

Elimination in whole numbers makes long numbers of short ones. Modulo a prime they stay short, and
which rows and unknowns make a regular square system can be read off; its solution is lifted
(`lifting`) and is an answer only if it satisfies every equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np

from clew.machines.exact.lifting import (
    LONG_PRIME,
    PRIMES,
    SMALL,
    inverse_modulo,
    lifted,
    satisfies,
    times,
)

Row = dict[int, int]
LONG = 30
"""Where the shortest row left has more entries, the rest is eliminated as a dense matrix."""
DENSE = 20_000_000
"""Entries of that matrix, at most."""


def modular_solution(rows: Sequence[Row], right: Sequence[int]) -> dict[int, Fraction] | None:
    """A solution of Σ_j rows_i[j] · x_j = right_i; None if there is none modulo two primes."""
    if not _may_have_one(rows, right):
        return None
    long = len(rows) <= SMALL and max(map(int.bit_length, right), default=0) > 200
    for prime in (LONG_PRIME,) * long + PRIMES[:2]:
        elimination = Elimination(rows, right, prime)
        if not elimination.consistent:
            continue
        unknowns, used = elimination.square()
        place = {x: i for i, x in enumerate(unknowns)}
        whole = [{place[x]: v for x, v in rows[i].items() if x in place} for i in used]
        values = lifted(whole, [right[i] for i in used], elimination.solve, prime)
        solution = dict(zip(unknowns, values, strict=True))
        if satisfies(rows, right, solution):
            return solution
    return None


def _may_have_one(rows: Sequence[Row], right: Sequence[int]) -> bool:
    """Whether a system with many equations twice has a solution, modulo one of two primes."""
    equations = zip(rows, right, strict=True)
    once = {(frozenset(row.items()), b): row for row, b in equations}
    if 2 * len(once) > len(rows):
        return True
    known = [b for _, b in once]
    return any(Elimination([*once.values()], known, p).consistent for p in PRIMES[:2])


class Elimination:
    """Gaussian elimination modulo a prime: shortest rows first, what is left as a matrix."""

    def __init__(self, rows: Sequence[Row], right: Sequence[int], prime: int):
        self.prime, self.consistent = prime, True
        self._rows = [{x: w for x, v in row.items() if (w := v % prime)} for row in rows]
        self._right = [b % prime for b in right]
        self._steps: list[tuple[int, int, int]] = []
        """(row, pivot row, factor), in order: the row lost so many times the pivot row."""
        self._order: list[tuple[int, int]] = []
        """(unknown, row) of the sparse part."""
        left = self._sparse()
        self._dense(sorted(left))
        kept = set(self.square()[1])
        self._steps = [step for step in self._steps if step[0] in kept]

    def square(self) -> tuple[list[int], list[int]]:
        """Unknowns and rows of a regular system as large as the rank."""
        unknowns = [x for x, _ in self._order] + self._dense_unknowns
        return unknowns, [i for _, i in self._order] + self._dense_rows

    def solve(self, target: Sequence[int]) -> list[int]:
        """The solution of that system modulo the prime, for another right side."""
        prime = self.prime
        right = dict(zip(self.square()[1], target, strict=True))
        for row, pivot, factor in self._steps:
            right[row] = (right[row] - factor * right[pivot]) % prime
        values: dict[int, int] = {}
        if self._dense_rows:
            tail = np.array([right[i] % prime for i in self._dense_rows], np.int64)
            found = times(self._inverse, tail, prime).tolist()
            values = dict(zip(self._dense_unknowns, found, strict=True))
        for unknown, i in reversed(self._order):
            row = self._rows[i]
            rest = right[i] - sum(v * values.get(x, 0) for x, v in row.items() if x != unknown)
            values[unknown] = rest * self._reciprocal[i] % prime
        return [values[x] for x in self.square()[0]]

    def _sparse(self) -> set[int]:
        """Take pivots from short rows; returns the rows that are left."""
        prime, rows = self.prime, self._rows
        using: dict[int, set[int]] = {}
        for i, row in enumerate(rows):
            for x in row:
                using.setdefault(x, set()).add(i)
        left = set(range(len(rows)))
        shortest = [(len(row), i) for i, row in enumerate(rows)]
        heapify(shortest)
        self._reciprocal: dict[int, int] = {}
        taken: set[int] = set()
        while shortest:
            length, i = shortest[0]
            if i not in left or length != len(rows[i]):
                heappop(shortest)  # an entry from before the row changed
                continue
            dense = length > LONG and prime in PRIMES
            if dense and len(left) * (len(using) - len(taken)) <= DENSE:
                break
            heappop(shortest)
            left.discard(i)
            row = rows[i]
            if not row:
                self.consistent = self.consistent and not self._right[i]
                continue
            pivot = min(row, key=lambda x: len(using[x]))
            taken.add(pivot)
            self._order.append((pivot, i))
            self._reciprocal[i] = pow(row[pivot], -1, prime)
            for k in list(using[pivot] & left):
                factor = rows[k][pivot] * self._reciprocal[i] % prime
                other = rows[k]
                for x, v in row.items():
                    value = (other.get(x, 0) - factor * v) % prime
                    if value:
                        if x not in other:
                            using[x].add(k)
                        other[x] = value
                    elif x in other:
                        del other[x]
                        using[x].discard(k)
                self._right[k] = (self._right[k] - factor * self._right[i]) % prime
                self._steps.append((k, i, factor))
                heappush(shortest, (len(other), k))
        return left

    def _dense(self, left: list[int]) -> None:
        """Find the rank of what is left, and invert a regular part as large."""
        prime, rows = self.prime, self._rows
        columns = sorted({x for i in left for x in rows[i]})
        place = {x: j for j, x in enumerate(columns)}
        work = np.zeros((len(left), len(columns) + 1), np.int64)
        for i, number in enumerate(left):
            for x, v in rows[number].items():
                work[i, place[x]] = v
            work[i, -1] = self._right[number]
        whole, order, rank, pivots = work[:, :-1].copy(), np.arange(len(left)), 0, list[int]()
        for column in range(len(columns)):
            below = rank + np.flatnonzero(work[rank:, column])
            if not len(below):
                continue
            swap = [rank, int(below[0])]
            work[swap], order[swap] = work[swap[::-1]], order[swap[::-1]]
            work[rank] = work[rank] * pow(int(work[rank, column]), -1, prime) % prime
            others = rank + 1 + np.flatnonzero(work[rank + 1 :, column])
            across = np.flatnonzero(work[rank])
            factors = work[others, column][:, None]
            part = work[np.ix_(others, across)]
            work[np.ix_(others, across)] = (part - factors * work[rank, across] % prime) % prime
            pivots.append(column)
            rank += 1
        self.consistent = self.consistent and not work[rank:, -1].any()
        used = order[:rank]
        self._dense_rows = [left[i] for i in used]
        self._dense_unknowns = [columns[j] for j in pivots]
        if self.consistent:
            inverse = inverse_modulo(whole[used][:, pivots], prime)
            assert inverse is not None
            self._inverse = inverse
