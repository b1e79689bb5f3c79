"""The noisy coin: peek at a hidden coin as often as you like, then guess."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike, rational
from clew.machines.model.pomdp import Law, Pomdp
from clew.machines.worlds.gallery import register
from clew.validate import whole_number

DONE = "done"


@register("Coin")
def coin(q: NumberLike = "3/4", horizon: int | None = None, gamma: NumberLike = "99/100") -> Pomdp:
    """Action c peeks and sees the true side with probability q; g0 and g1 guess and end.

    Posteriors are not finite: every peek may add confidence. With a horizon H the last of H steps
    ends the episode, and states carry the step: `s1@3`.
    """
    right = rational("q", q)
    sides = ("0", "1")
    if horizon is None:
        alive = [f"s{z}" for z in sides]
    else:
        whole_number("horizon", horizon, 1, 64)
        alive = [f"s{z}@{t}" for t in range(horizon) for z in sides]

    def p(s: str, a: str) -> str:
        if s == DONE or a != "c":
            return DONE
        if horizon is None:
            return s
        side, _, t = s.partition("@")
        return f"{side}@{int(t) + 1}" if int(t) + 1 < horizon else DONE

    def omega(s: str) -> Law:
        if s == DONE:
            return "o⊥"
        z = s[1]
        return {f"o{z}": right, f"o{1 - int(z)}": 1 - right}

    return Pomdp.build(
        states=[*alive, DONE],
        actions=["c", "g0", "g1"],
        observations=["o0", "o1", "o⊥"],
        p=p,
        omega=omega,
        r=lambda s, a, after: int(s != DONE and a == f"g{s[1]}"),
        gamma=gamma,
        mu={alive[0]: "1/2", alive[1]: "1/2"},
        terminal=[DONE],
        variables={"coin": lambda s: DONE if s == DONE else s[1]},
        name="noisy coin" if horizon is None else f"noisy coin, horizon {horizon}",
    )
