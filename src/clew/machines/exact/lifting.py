"""Exact solutions from those modulo a prime p: lifted p-adically (Dixon), checked exactly.

With A in whole numbers and C = A⁻¹ mod p, the digits of the solution in base p come one by one:
x ≡ C b, then b ← (b − A x)/p. Fractions are recovered from the digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt, lcm

import numpy as np

PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)
"""Products of two residues fit into 64 bits."""
LONG_PRIME = 2**521 - 1
"""For small systems: fewer, longer digits."""
SMALL = 100
"""Equations of a small system."""


def lifted(
    whole: Sequence[Mapping[int, int]],
    target: Sequence[int],
    modulo: Callable[[Sequence[int]], Sequence[int]],
    prime: int,
) -> list[Fraction]:
    """The solution of a regular square system that `modulo` solves modulo a prime."""
    digits, modulus, rest = [0] * len(whole), 1, list(target)
    # Cramer's rule and Hadamard's bound say how long the numbers can be
    denominator = sum(sum(map(abs, row.values())).bit_length() for row in whole)
    numerator = denominator + max((b.bit_length() for b in target), default=0)
    few, tries = len(whole) <= SMALL, 2
    enough = 1 + (numerator + denominator + 2) // (prime.bit_length() - 1) if few else 0
    for count in range(1, 1_000_000):
        step = modulo([b % prime for b in rest])
        digits = [x + modulus * d for x, d in zip(digits, step, strict=True)]
        modulus *= prime
        rest = [
            (b - sum(v * step[j] for j, v in row.items())) // prime
            for b, row in zip(rest, whole, strict=True)
        ]
        if count == tries:
            tries = max(enough, tries * 3 // 2 + 1)
            half = isqrt(modulus // 2)
            found = _recovered(digits, modulus, min(half, 1 << denominator) if few else half)
            if found is not None and satisfies(whole, target, dict(enumerate(found))):
                return found
    raise ArithmeticError("the equations do not have a solution of a reasonable size")


def _recovered(digits: list[int], modulus: int, largest: int) -> list[Fraction] | None:
    """Fractions from residues, by way of a denominator that they mostly share."""
    shared, found = 1, []
    for digit in digits:
        part = _fraction(digit * shared % modulus, modulus, largest)
        if part is None:
            return None
        shared *= part.denominator
        found.append(part / (shared // part.denominator))
    return found


def _fraction(residue: int, modulus: int, largest: int) -> Fraction | None:
    """The n/d ≡ residue with d ≤ largest and 2 |n| d ≤ modulus, by Euclid's algorithm part way."""
    before, now, bound = (modulus, 0), (residue, 1), modulus // (2 * largest)
    while now[0] > bound:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    return Fraction(now[0], now[1]) if now[1] and abs(now[1]) <= largest else None


def satisfies(
    whole: Sequence[Mapping[int, int]], target: Sequence[int], solution: Mapping[int, Fraction]
) -> bool:
    """Whether every equation holds; unknowns that are not listed are zero."""
    shared = lcm(*(value.denominator for value in solution.values()))
    scaled = {j: int(value * shared) for j, value in solution.items()}
    return all(
        sum(v * scaled.get(j, 0) for j, v in row.items()) == b * shared
        for row, b in zip(whole, target, strict=True)
    )


def times(matrix: np.ndarray, vector: np.ndarray, prime: int) -> np.ndarray:
    """A product modulo p, in two halves so that sums of products stay within 64 bits."""
    low, high = vector & 0xFFFF, vector >> 16
    # each product is below 2^47; 2^16 of them fit
    product = (matrix @ high) % prime
    return ((product << 16) + matrix @ low) % prime


def inverse_modulo(matrix: np.ndarray, prime: int) -> np.ndarray | None:
    """Of a square matrix of residues; None if it is singular modulo the prime."""
    n = len(matrix)
    work = np.concatenate([matrix, np.eye(n, dtype=np.int64)], axis=1)
    for column in range(n):
        below = np.flatnonzero(work[column:, column])
        if not len(below):
            return None
        pivot = column + int(below[0])
        if pivot != column:
            work[[column, pivot]] = work[[pivot, column]]
        work[column] = work[column] * pow(int(work[column, column]), -1, prime) % prime
        others = np.flatnonzero(work[:, column])
        others = others[others != column]
        factor = work[others, column][:, None]
        work[others] = (work[others] - factor * work[column] % prime) % prime
    return work[:, n:].copy()
