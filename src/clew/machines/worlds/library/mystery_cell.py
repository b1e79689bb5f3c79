"""One cell of MysteryPath: two ways on, one of them a trap, the same one in every step."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register


@register("MysteryCell")
def mystery_cell(gamma: NumberLike = "99/100") -> Pomdp:
    """The trap z is hidden; action z falls, the other one reaches the goal and pays 1."""
    sides = ("L", "R")

    def p(s: str, a: str) -> str:
        if s.startswith("done"):
            return "done2"
        return f"fallen {a}" if s.endswith(a) else "done1"

    shown = {"start": "oS", "fallen": "oF", "done1": "oG", "done2": "o⊥"}
    return Pomdp.build(
        states=[f"{place} {z}" for place in ("start", "fallen") for z in sides]
        + ["done1", "done2"],
        actions=sides,
        observations=list(shown.values()),
        p=p,
        omega=lambda s: shown[s.split()[0]],
        r=lambda s, a, after: int(after == "done1"),
        gamma=gamma,
        mu={"start L": "1/2", "start R": "1/2"},
        terminal=["done1", "done2"],
        variables={"trap": lambda s: s.split()[-1], "place": lambda s: s.split()[0]},
        name="one cell of MysteryPath",
    )
