"""Certificates that rest on a word which can be repeated for ever.

Let x_n be the unnormalised filter after n repetitions. A finite machine is in one state after
infinitely many of the histories: after all n = m, m + p, m + 2p, … for some m and p. Let W be the
span of x_j, x_{j+1}, …, where a repetition no longer loses a dimension: there it is an invertible
map with x_j as a cyclic vector. If no two different eigenvalues of it have a root of unity for
their quotient, its p-th power has as many different eigenvalues, each with a Jordan block of the
same size, so that x_m, x_{m+p}, … span W as well. **So every finite machine has a state in which
whatever is linear in the filter and holds for its histories holds on all of W**, and the same
after every further word.

A quotient that is a primitive k-th root of unity has degree φ(k) ≤ d (d − 1), d = dim W, and would
make the vectors x_j, x_{j+k}, x_{j+2k}, … dependent: finitely many k have to be looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import isqrt

from clew.machines.certificates.claims import Loop, NeverPerfect, Unencodable
from clew.machines.certificates.filters import (
    Echelon,
    Weights,
    demand,
    first_filters,
    joint_law,
    mean_reward,
    next_filters,
    next_law,
    normalised,
)
from clew.machines.model.pomdp import Pomdp

PRIME = 2**61 - 1
"""Vectors that are independent modulo a prime are independent."""


def check_unencodable(proof: Unencodable) -> None:
    """In a state that pools W, these multiples of the equations of an encoder read 0 = 1."""
    pomdp, basis = proof.loop.pomdp, check_loop(proof.loop)
    left: dict[object, Fraction] = defaultdict(Fraction)
    right = Fraction(0)
    for number, then, action, y in proof.multiples:
        demand(0 <= number < len(basis), "a multiple is of a vector that there is not")
        here = _pushed(pomdp, normalised(basis[number]), then)
        for s, w in here.items():
            left["psi", then, s] -= y * w
        for (o, _), chance in next_law(pomdp, here, action).items():
            left["pay", then, action, o] += y * chance
        for o, after in next_filters(pomdp, here, action).items():
            for s, w in after.items():
                left["psi", (*then, action, o), s] += y * pomdp.discount * w
        right += y * mean_reward(pomdp, here, action)
    demand(not any(left.values()), "the combination does not cancel")
    demand(right == 1, "the combination does not contradict itself")


def check_never_perfect(proof: NeverPerfect) -> None:
    """The next step is not the same all over W."""
    pomdp, laws = proof.loop.pomdp, []
    for vector in check_loop(proof.loop):
        here = _pushed(pomdp, vector, proof.then)
        if here:
            laws.append(joint_law(pomdp, normalised(here), proof.action))
    demand(any(one != two for one, two in pairwise(laws)), "the next steps are the same")


def check_loop(loop: Loop) -> list[Weights]:
    """The basis x_j, … of W; rejects a loop that some finite machine may not go around."""
    pomdp, word = loop.pomdp, loop.word
    demand(bool(word) and word[-1] == loop.history[-1], "the word does not lead back")
    first = first_filters(pomdp).get(loop.history[0], {})
    vector = _pushed(pomdp, dict(first), (*loop.history[1:], *word * loop.settled))
    demand(bool(vector), "the history cannot happen")
    basis: list[Weights] = []
    span, marks = Echelon(), len(pomdp.states)
    # each vector is marked: what is left of one that depends on others names the factors
    while min(left := span.rest({**vector, marks + len(basis): Fraction(1)})) < marks:
        span.add(left)
        basis.append(vector)
        vector = _pushed(pomdp, vector, word)
    mine = left[marks + len(basis)]
    factors = [Fraction(-left.get(marks + i, 0), mine) for i in range(len(basis))]
    demand(factors[0] != 0, "a repetition still loses a dimension")
    demand(len(basis) > 1, "the word repeats one posterior")
    _check_independent(factors)
    return basis


def _pushed(pomdp: Pomdp, weights: Weights, word: tuple[int, ...]) -> Weights:
    """The filter after a word of actions and observations; empty if it cannot happen."""
    for action, o in zip(word[::2], word[1::2], strict=True):
        after = next_filters(pomdp, weights, action, (o,)).get(o, {})
        weights = {s: w for s, w in after.items() if w}
    return weights


def _check_independent(factors: list[Fraction]) -> None:
    """No two eigenvalues of x_{n+d} = Σ factors_i x_{n+i} differ by a root of unity."""
    d = len(factors)
    demand(all(f.denominator % PRIME for f in factors), "a number is a multiple of a large prime")
    last = [f.numerator * pow(f.denominator, -1, PRIME) % PRIME for f in factors]

    def repeated(vector: list[int]) -> list[int]:
        """In coordinates, one repetition later."""
        return [((vector[i - 1] if i else 0) + vector[-1] * f) % PRIME for i, f in enumerate(last)]

    images = [[int(i == j) for j in range(d)] for i in range(d)]
    for k in range(1, max(30, isqrt((d * (d - 1)) ** 3)) + 1):  # φ(k) ≥ k^(2/3) above 30
        images = [repeated(vector) for vector in images]
        if k > 1 and _totient(k) <= d * (d - 1):
            demand(_rank(_orbit(images)) == d, f"every {k}th repetition stays in fewer dimensions")


def _orbit(images: list[list[int]]) -> Iterator[list[int]]:
    """e₀ and its images under a power of the repetition, one for each dimension."""
    vector = [1] + [0] * (len(images) - 1)
    for _ in images:
        yield vector
        vector = [
            sum(v * image[j] for v, image in zip(vector, images, strict=True)) % PRIME
            for j in range(len(images))
        ]


def _rank(vectors: Iterator[list[int]]) -> int:
    """Modulo the prime."""
    rows: dict[int, list[int]] = {}
    for vector in vectors:
        for pivot, row in rows.items():
            if factor := vector[pivot]:
                vector = [(a - factor * b) % PRIME for a, b in zip(vector, row, strict=True)]
        place = next((i for i, value in enumerate(vector) if value), None)
        if place is not None:
            inverse = pow(vector[place], -1, PRIME)
            rows[place] = [value * inverse % PRIME for value in vector]
    return len(rows)


def _totient(k: int) -> int:
    result, rest, p = k, k, 2
    while p * p <= rest:
        if rest % p == 0:
            result -= result // p
            while rest % p == 0:
                rest //= p
        p += 1
    return result - result // rest if rest > 1 else result
