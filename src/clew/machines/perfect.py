"""Is a machine perfect: does its state say as much about the next step as the whole history?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.product import PomdpRM
from clew.machines.spaces import History, Spaces, Vector, spaces

Joint = dict[tuple[int, Fraction], Fraction]
"""(o', r) → probability."""


@dataclass(frozen=True)
class Perfect:
    """Proof: every history of the basis has the law of its site (linear, so that all do)."""

    product: PomdpRM
    basis: tuple[Vector, ...]

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Mixed:
    """Proof of the contrary: two histories in one cell with different next steps."""

    product: PomdpRM
    first: History
    second: History
    action: int

    def __bool__(self) -> bool:
        return False


def perfect(product: PomdpRM, known: Spaces | None = None) -> Perfect | Mixed:
    """Pr(o', r | ·, a) must be one law for all basis vectors of a site."""
    known = known or spaces(product)
    for vectors in known.at().values():
        first = vectors[0]
        for action in range(len(product.pomdp.actions)):
            law = next_step(product, first, action)
            for other in vectors[1:]:
                if next_step(product, other, action) != law:
                    return Mixed(product, first.history, other.history, action)
    return Perfect(product, known.basis)


def next_step(product: PomdpRM, vector: Vector, action: int) -> Joint:
    """Pr(o', r | h, a)."""
    total = sum(vector.weights.values())
    law: Joint = defaultdict(Fraction)
    for s, weight in vector.weights.items():
        for b in product.pomdp.steps[s][action]:
            law[b.observation, b.reward] += Fraction(weight, total) * b.probability
    return dict(law)
