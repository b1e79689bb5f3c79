"""A POMDP in our own JSON."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction

from clew.machines.formats.clewjson.fields import (
    fields,
    fraction,
    items,
    names,
    of_kind,
    pick,
    probability,
    texts,
)
from clew.machines.formats.clewjson.text import KINDS, Node
from clew.machines.formats.text import Limits
from clew.machines.model.pomdp import Begin, Branch, Pomdp

Index = Mapping[str, int]


def read_pomdp(node: Node, limits: Limits) -> Pomdp:
    """Read the fields of a POMDP."""
    needed = ("discount", "states", "actions", "observations", "start", "steps")
    part = fields(node, needed, ("name", "terminal", "variables", "notes"))
    states, actions, seen = (names(part[kind]) for kind in needed[1:4])
    limits.of_tables(part["states"].place, len(states), len(actions), len(seen))
    discount = fraction(part["discount"])
    if not 0 < discount < 1:
        part["discount"].fail("this is no discount", "a fraction above 0 and below 1")
    steps = _steps(part["steps"], states, actions, seen)
    return Pomdp(
        states=tuple(states),
        actions=tuple(actions),
        observations=tuple(seen),
        start=_start(part["start"], states, seen),
        steps=steps,
        discount=discount,
        terminal=_terminal(part["terminal"], states, steps) if "terminal" in part else frozenset(),
        variables=_variables(part["variables"], len(states)) if "variables" in part else {},
        name=of_kind(part["name"], str) if "name" in part else "POMDP",
        notes=texts(part["notes"]) if "notes" in part else (),
    )


def _start(node: Node, states: Index, seen: Index) -> tuple[Begin, ...]:
    begins = []
    for item in items(node):
        s, o, p = items(item, 3, "state, observation, probability")
        begins.append(Begin(pick(s, states, "state"), pick(o, seen, "observation"), probability(p)))
    _adds_up(node, "the start probabilities", sum((b.probability for b in begins), Fraction(0)))
    return tuple(begins)


def _steps(
    node: Node, states: Index, actions: Index, seen: Index
) -> tuple[tuple[tuple[Branch, ...], ...], ...]:
    rows: list[list[list[Branch]]] = [[[] for _ in actions] for _ in states]
    last: dict[tuple[int, int], Node] = {}
    for item in items(node):
        what = "state, action, next state, observation, probability, reward"
        s, a, s2, o, p, r = items(item, 6, what)
        here = (pick(s, states, "state"), pick(a, actions, "action"))
        rows[here[0]][here[1]].append(
            Branch(
                pick(s2, states, "state"), pick(o, seen, "observation"), probability(p), fraction(r)
            )
        )
        last[here] = item
    for state, s in states.items():
        for action, a in actions.items():
            total = sum((branch.probability for branch in rows[s][a]), Fraction(0))
            what = f"the probabilities of the step from {state!r} under {action!r}"
            _adds_up(last.get((s, a), node), what, total)
    return tuple(tuple(tuple(row) for row in by_action) for by_action in rows)


def _adds_up(node: Node, what: str, total: Fraction) -> None:
    if total != 1:
        node.fail(f"{what} add up to {float(total):.10g}", "exactly 1")


def _terminal(
    node: Node, states: Index, steps: tuple[tuple[tuple[Branch, ...], ...], ...]
) -> frozenset[int]:
    ends = {pick(item, states, "state"): item for item in items(node)}
    for s, item in ends.items():
        if any(b.state not in ends or b.reward for row in steps[s] for b in row):
            item.fail("this state pays something or leads on", "a state in which all is over")
    return frozenset(ends)


def _variables(node: Node, states: int) -> dict[str, tuple[Hashable, ...]]:
    what = "one value for each state"
    return {
        name: tuple(_plain(item) for item in items(values, states, what))
        for name, values in of_kind(node, dict).items()
    }


def _plain(node: Node) -> Hashable:
    """A value of a latent variable: arrays are tuples, and fractions stand in an object."""
    if type(node.value) is list:
        return tuple(_plain(item) for item in node.value)
    if type(node.value) is dict:
        return fraction(fields(node, ("fraction",))["fraction"])
    if type(node.value) is Fraction:
        if not node.text.lstrip("-").isdigit():
            node.fail(
                f"this is {KINDS[Fraction]} with decimals", 'a whole number or {"fraction":…}'
            )
        return int(node.value)
    return node.value
