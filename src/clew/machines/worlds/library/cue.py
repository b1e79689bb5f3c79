"""The cue abstraction of MemoryS13: look into the cue room or not, then pick at the junction."""

from __future__ import annotations

from collections.abc import Iterator

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import Labelling, PomdpRM, RewardMachine
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


def cue_machine(pomdp: Pomdp) -> PomdpRM:
    """The paper's machine with three states: it stores the cue; blind picks earn one half."""

    def holds(o: str, a: str, o2: str) -> Iterator[str]:
        if o2.startswith("oC"):
            yield f"see{o2[-1]}"
        if o2 == "oE":
            yield f"match{a[-1]}"

    edges = [(f"u{c}", [f"match{d}"], "u_f", int(c == d)) for c in CUES for d in CUES]
    edges += [("u0", [f"see{c}"], f"u{c}", 0) for c in CUES]
    edges += [("u0", [f"match{c}"], "u_f", "1/2") for c in CUES]
    machine = RewardMachine.build(edges, initial="u0", terminal=["u_f"], name="cue machine")
    return PomdpRM(pomdp, Labelling.of(pomdp, holds), machine)
