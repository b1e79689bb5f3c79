"""Exact linear algebra over the rationals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import gcd, lcm

from clew.machines.exact.graphs import components
from clew.machines.exact.lifting import lifted_solution
from clew.machines.exact.modular import modular_solution

Number = Fraction | int
SparseRow = Mapping[int, Number]
DENSE_BELOW = 40
"""Smaller components are eliminated outright; larger ones are solved modulo a prime and lifted."""
LARGE = 60
"""The same for systems that may have many solutions or none."""


def fixed_point(constants: Sequence[Fraction], terms: Sequence[SparseRow]) -> list[Fraction]:
    """The solution of x_i = constant_i + Σ_j terms_i[j] · x_j, which must be unique.

    Solved one strongly connected component after the other, so that only unknowns that depend
    on each other need elimination.
    """
    solution: list[Fraction] = [Fraction(0)] * len(constants)
    for component in components([list(row) for row in terms]):
        place = {i: number for number, i in enumerate(component)}
        known = [
            constants[i] + sum(k * solution[j] for j, k in terms[i].items() if j not in place)
            for i in component
        ]
        if len(component) == 1:
            i = component[0]
            solution[i] = known[0] / (1 - terms[i].get(i, Fraction(0)))
            continue
        rows = [
            {place[i]: 1 - Fraction(terms[i].get(i, 0))}
            | {place[j]: -Fraction(k) for j, k in terms[i].items() if j in place and j != i}
            for i in component
        ]
        small = len(component) < DENSE_BELOW
        values = _eliminated(rows, known) if small else lifted_solution(rows, known)
        for i, value in zip(component, values, strict=True):
            solution[i] = value
    return solution


def _eliminated(rows: Sequence[SparseRow], right: Sequence[Fraction]) -> list[Fraction]:
    answer = solve(rows, right)
    if answer is None or len(answer) < len(rows):
        raise ArithmeticError("the equations do not have exactly one solution")
    return [answer[j] for j in range(len(rows))]


def solve(rows: Sequence[SparseRow], right: Sequence[Number]) -> dict[int, Fraction] | None:
    """A solution of Σ_j rows_i[j] · x_j = right_i, or None. Unknowns left free are not listed.

    Rows are kept in whole numbers without a common factor. The next pivot is taken from the
    shortest row that is left, which keeps sparse systems sparse.
    """
    system = [_whole({**row, -1: value}) for row, value in zip(rows, right, strict=True)]
    if len(system) >= LARGE:
        known = [row.pop(-1, 0) for row in system]
        return modular_solution(system, known)
    using: dict[int, set[int]] = {}
    for i, row in enumerate(system):
        for j in row:
            using.setdefault(j, set()).add(i)
    left = set(range(len(system)))
    shortest = [(len(row), i) for i, row in enumerate(system)]
    heapify(shortest)
    order: list[tuple[int, int]] = []
    while shortest:
        length, i = heappop(shortest)
        if i not in left or length != len(system[i]):
            continue  # an entry from before the row changed
        left.discard(i)
        unknowns = [j for j in system[i] if j != -1]
        if not unknowns:
            if system[i].get(-1):
                return None
            continue
        pivot = min(unknowns, key=lambda j: len(using[j]))
        order.append((pivot, i))
        for k in list(using[pivot] & left):
            _cancel(system, using, k, i, pivot)
            heappush(shortest, (len(system[k]), k))
    return _substituted(system, order)


def _cancel(
    system: list[dict[int, int]], using: dict[int, set[int]], k: int, i: int, pivot: int
) -> None:
    """Take a multiple of row i from row k, so that the pivot goes."""
    row, mixed = system[k], _without(pivot, system[k], system[i])
    for j in row.keys() - mixed.keys():
        using[j].discard(k)
    for j in mixed.keys() - row.keys():
        using.setdefault(j, set()).add(k)
    system[k] = mixed


def _substituted(system: list[dict[int, int]], order: list[tuple[int, int]]) -> dict[int, Fraction]:
    """Backwards; unknowns without a pivot are zero."""
    solution: dict[int, Fraction] = {}
    for pivot, i in reversed(order):
        row = system[i]
        known = Fraction(row.get(-1, 0)) - sum(
            value * solution.get(j, 0) for j, value in row.items() if j not in (-1, pivot)
        )
        solution[pivot] = known / row[pivot]
    return solution


def _whole(row: SparseRow) -> dict[int, int]:
    scale = lcm(*(value.denominator for value in row.values()))
    return _shortest({j: int(value * scale) for j, value in row.items()})


def _without(pivot: int, row: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """A multiple of a row less a multiple of another, so that the pivot goes."""
    common = gcd(row[pivot], other[pivot])
    mine, theirs = other[pivot] // common, row[pivot] // common
    mixed = {j: mine * value for j, value in row.items()}
    for j, value in other.items():
        mixed[j] = mixed.get(j, 0) - theirs * value
    return _shortest(mixed)


def _shortest(row: Mapping[int, int]) -> dict[int, int]:
    """Without zeros, and without a common factor."""
    factor = gcd(*row.values()) or 1
    return {j: value // factor for j, value in row.items() if value}


class Span:
    """A subspace of ℚⁿ that grows by vectors of whole numbers."""

    def __init__(self, vectors: Iterable[Mapping[int, int]] = ()) -> None:
        self._rows: dict[int, dict[int, int]] = {}
        for vector in vectors:
            self.add(vector)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, vector: Mapping[int, int]) -> bool:
        """Widen the span by a vector; False if it lay in it already."""
        rest = self.rest(vector)
        if not rest:
            return False
        self._rows[min(rest)] = rest
        return True

    def __contains__(self, vector: Mapping[int, int]) -> bool:
        return not self.rest(vector)

    def rest(self, vector: Mapping[int, int]) -> dict[int, int]:
        """What is left of a multiple of a vector after taking multiples of the rows off it."""
        vector, settled = dict(vector), -1
        while True:
            pivot = min((j for j in vector if j > settled and j in self._rows), default=None)
            if pivot is None:
                return vector
            vector = _without(pivot, vector, self._rows[pivot])
            settled = pivot
