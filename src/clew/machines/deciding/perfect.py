"""Is a machine perfect: does its state say as much about the next step as the whole history?"""

from __future__ import annotations

from fractions import Fraction

from clew.machines.certificates.claims import Mixed, Perfect, Vector
from clew.machines.deciding.spaces import Spaces, spaces
from clew.machines.exact.numbers import summed
from clew.machines.model.reward_machine import PomdpRM

Joint = dict[tuple[int, bool, Fraction], Fraction]
"""(o', whether the episode is over, r) → probability."""


def perfect(product: PomdpRM, known: Spaces | None = None) -> Perfect | Mixed:
    """Pr(o', over, r | ·, a) must be one law for all basis vectors of a site."""
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
    """Pr(o', over, r | h, a)."""
    total, over = sum(vector.weights.values()), product.pomdp.over
    return summed(
        ((b.observation, b.state in over, b.reward), Fraction(weight, total) * b.probability)
        for s, weight in vector.weights.items()
        for b in product.pomdp.steps[s][action]
    )
