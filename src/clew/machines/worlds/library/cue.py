"""The cue abstraction of MemoryS13: look into the cue room or not, then pick at the junction."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register

CUES = ("A", "B")


@register("Cue")
def cue(gamma: NumberLike = "99/100") -> Pomdp:
    """Four actions: peek, go, and one pick for each cue. A right pick pays 1."""

    def p(s: str, a: str) -> str:
        place, _, c = s.partition(" ")
        if place == "start":
            return f"room {c}" if a == "peek" else f"junction {c}"
        if place == "junction" and a.startswith("pick"):
            return "end"
        return "over" if place in ("end", "over") else f"junction {c}"

    def omega(s: str) -> str:
        place, _, c = s.partition(" ")
        return {"start": "oS", "room": f"oC{c}", "junction": "oJ", "end": "oE", "over": "o⊥"}[place]

    return Pomdp.build(
        states=[f"{place} {c}" for place in ("start", "room", "junction") for c in CUES]
        + ["end", "over"],
        actions=["peek", "go", "pickA", "pickB"],
        observations=["oS", "oCA", "oCB", "oJ", "oE", "o⊥"],
        p=p,
        omega=omega,
        r=lambda s, a, after: int(s.startswith("junction") and a == f"pick{s[-1]}"),
        gamma=gamma,
        mu={f"start {c}": "1/2" for c in CUES},
        terminal=["end", "over"],
        variables={
            "cue": lambda s: s.split()[-1],
            "place": lambda s: s.split()[0],
        },
        name="cue abstraction of MemoryS13",
    )
