"""Exact linear algebra over the rationals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

from clew.machines.exact.graphs import components
from clew.machines.exact.modular import modular_solution

Number = Fraction | int
SparseRow = Mapping[int, Number]


def fixed_point(constants: Sequence[Fraction], terms: Sequence[SparseRow]) -> list[Fraction]:
    """The solution of x_i = constant_i + Σ_j terms_i[j] · x_j, which must be unique.

    Solved one strongly connected component after the other, so that only unknowns that depend
    on each other need elimination.
    """
    solution: list[Fraction] = [Fraction(0)] * len(constants)
    for component in components([list(row) for row in terms]):
        place = {i: number for number, i in enumerate(component)}
        known = [
            constants[i]
            + sum(
                k * value for j, k in terms[i].items() if j not in place and (value := solution[j])
            )
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
        values = solve(rows, known)
        if values is None or len(values) < len(rows):
            raise ArithmeticError("the equations do not have exactly one solution")
        for i, number in place.items():
            solution[i] = values[number]
    return solution


def solve(rows: Sequence[SparseRow], right: Sequence[Number]) -> dict[int, Fraction] | None:
    """A solution of Σ_j rows_i[j] · x_j = right_i, or None. Unknowns left free are not listed.

    That there is none is said where it is so modulo two primes: it is all but certain, and no
    claim rests on it.
    """
    system = [_whole(row, value) for row, value in zip(rows, right, strict=True)]
    # long numbers on the right stay there: the solution is that of a multiple of them
    scale = lcm(*{value.denominator for _, value in system})
    known = [value.numerator * (scale // value.denominator) for _, value in system]
    solution = modular_solution([row for row, _ in system], known)
    if solution is None or scale == 1:
        return solution
    return {j: value / scale for j, value in solution.items()}


def _whole(row: SparseRow, right: Number) -> tuple[dict[int, int], Number]:
    """A multiple of an equation, the left side in whole numbers."""
    scale = lcm(*(value.denominator for value in row.values()))
    whole = {j: value.numerator * (scale // value.denominator) for j, value in row.items()}
    right = right * scale if scale > 1 else right
    factor = gcd(*whole.values(), right.numerator) or 1
    if factor > 1:
        whole = {j: value // factor for j, value in whole.items()}
        right = Fraction(right.numerator // factor, right.denominator)
    return {j: value for j, value in whole.items() if value}, right


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
