"""A hint that is shown once: the smallest case in which a greatest fixpoint would be wrong."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register


@register("Once")
def once(gamma: NumberLike = "9/10") -> Pomdp:
    """z is shown at the start and never again; action a pays z, action b pays 2z, in every step.

    Around the loop, action a demands Δ = γΔ − z and action b demands Δ = γΔ − 2z: no encoder
    may pool z = 0 with z = 1.
    """
    return Pomdp.build(
        states=[f"{place} {z}" for place in ("shown", "later") for z in "01"],
        actions=["a", "b"],
        observations=["zero", "one", "nothing"],
        p=lambda s, a: f"later {s[-1]}",
        omega=lambda s: "nothing" if s.startswith("later") else ("zero", "one")[int(s[-1])],
        r=lambda s, a, after: int(s[-1]) * (1 if a == "a" else 2),
        gamma=gamma,
        mu={"shown 0": "1/2", "shown 1": "1/2"},
        variables={"z": lambda s: s[-1]},
        name="a hint shown once",
    )
