"""Machines whose answers are known: the belief filter's, and two of the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.machines import Edge, Filter, Label, Labelling, Pomdp, PomdpRM, RewardMachine
from clew.machines.model.belief import BeliefCell, BeliefRow, expected


def filter_machine(beliefs: Filter) -> PomdpRM:
    """The filter as a reward machine: it pays the mean reward given what was seen.

    Its states are ι and the cells; the labelling is injective.
    """
    pomdp = beliefs.pomdp
    labelling = Labelling.injective(pomdp)
    edges: list[dict[Label, Edge]] = [{}]
    for place, (cell, rows) in enumerate(zip(beliefs.cells, beliefs.rows, strict=True)):
        edges.append(_edges(place, cell, rows, labelling))
    for begin, _ in beliefs.start:
        edges[0] |= edges[1 + begin]
    states = ("ι", *(f"b{place}" for place in range(len(beliefs.cells))))
    return PomdpRM(pomdp, labelling, RewardMachine(states, tuple(edges)))


def cue_machine(pomdp: Pomdp) -> PomdpRM:
    """The paper's machine with three states: it stores the cue; blind picks earn one half."""

    def holds(o: str, a: str, o2: str) -> Iterator[str]:
        if o2.startswith("oC"):
            yield f"see{o2[-1]}"
        if o2 == "oE":
            yield f"match{a[-1]}"

    edges = [(f"u{c}", [f"match{d}"], "u_f", int(c == d)) for c in "AB" for d in "AB"]
    edges += [("u0", [f"see{c}"], f"u{c}", 0) for c in "AB"]
    edges += [("u0", [f"match{c}"], "u_f", "1/2") for c in "AB"]
    machine = RewardMachine.build(edges, initial="u0", terminal=["u_f"], name="cue machine")
    return PomdpRM(pomdp, Labelling.of(pomdp, holds), machine)


def goal_machine(pomdp: Pomdp) -> PomdpRM:
    """The paper's machine with one state: it pays when the goal comes into view."""
    labelling = Labelling.of(pomdp, lambda o, a, o2: ["G"] if o2 == "oG" else [])
    machine = RewardMachine.build([("u", ["G"], "u", 1), ("u", [], "u", 0)], name="goal machine")
    return PomdpRM(pomdp, labelling, machine)


def _edges(
    place: int, cell: BeliefCell, rows: Sequence[BeliefRow], labelling: Labelling
) -> dict[Label, Edge]:
    # where an episode is over after each of these steps, the next state does not matter
    return {
        labelling(cell.observation, action, o): Edge(
            1 + (place if way.after is None else way.after), expected(row, o)
        )
        for action, row in enumerate(rows)
        for o, way in row.shown().items()
    }
