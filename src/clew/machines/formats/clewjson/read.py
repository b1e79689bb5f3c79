"""Our own JSON into a model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from clew.machines.formats.clewjson.fields import (
    fields,
    fraction,
    items,
    names,
    of_kind,
    pick,
    texts,
)
from clew.machines.formats.clewjson.pomdp import read_pomdp
from clew.machines.formats.clewjson.schema import (
    FORMAT,
    MACHINE,
    POMDP,
    PRODUCT,
    VERSION,
    Model,
)
from clew.machines.formats.clewjson.text import Node, parse_json
from clew.machines.formats.text import LIMITS, Limits
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import Edge, Label, Labelling, PomdpRM, RewardMachine


def parse_clew_json(text: str, limits: Limits = LIMITS) -> Model:
    """Read a model."""
    node = parse_json(text, limits)
    header = {
        "format": (FORMAT,),
        "version": (VERSION,),
        "kind": (POMDP, MACHINE, PRODUCT),
    }
    found: dict[str, Node] = of_kind(node, dict)
    for name, valid in header.items():
        if name not in found:
            node.fail(f"the field {name!r} is missing", f"an object with {', '.join(header)}")
        if of_kind(found[name], Fraction if name == "version" else str) not in valid:
            found[name].fail(f"this {name} is not known", " or ".join(map(repr, valid)))
    body = Node({n: v for n, v in found.items() if n not in header}, node.place, node.text)
    readers: dict[str, Callable[[Node, Limits], Model]] = {
        POMDP: read_pomdp,
        MACHINE: _machine,
        PRODUCT: _product,
    }
    return readers[found["kind"].value](body, limits)


def _machine(node: Node, limits: Limits) -> RewardMachine:
    del limits
    part = fields(node, ("states", "initial", "edges"), ("terminal", "name"))
    states = names(part["states"])
    ends = (
        [pick(item, states, "state") for item in items(part["terminal"])]
        if "terminal" in part
        else []
    )
    rows: list[dict[Label, Edge]] = [{} for _ in states]
    for item in items(part["edges"]):
        u, label, v, reward = items(item, 4, "state, propositions, next state, reward")
        row, holds = rows[pick(u, states, "state")], _label(label)
        if pick(u, states, "state") in ends:
            u.fail("a terminal state has no edges", "a state that is not terminal")
        if holds in row:
            label.fail("this state lists these propositions twice", "another set of propositions")
        row[holds] = Edge(pick(v, states, "state"), fraction(reward))
    return RewardMachine(
        tuple(states),
        tuple(rows),
        pick(part["initial"], states, "state"),
        frozenset(ends),
        of_kind(part["name"], str) if "name" in part else "machine",
    )


def _product(node: Node, limits: Limits) -> PomdpRM:
    part = fields(node, ("pomdp", "labelling", "machine"))
    pomdp = read_pomdp(part["pomdp"], limits)
    return PomdpRM(pomdp, _labelling(part["labelling"], pomdp), _machine(part["machine"], limits))


def _labelling(node: Node, pomdp: Pomdp) -> Labelling:
    seen = {name: index for index, name in enumerate(pomdp.observations)}
    actions = {name: index for index, name in enumerate(pomdp.actions)}
    table: dict[tuple[int, int, int], Label] = {}
    for item in items(node):
        o, a, o2, label = items(item, 4, "observation, action, next observation, propositions")
        triple = (
            pick(o, seen, "observation"),
            pick(a, actions, "action"),
            pick(o2, seen, "observation"),
        )
        if triple in table:
            item.fail("this triple is labelled twice", "another triple")
        table[triple] = _label(label)
    return Labelling(table)


def _label(node: Node) -> Label:
    holds = texts(node)
    if len(set(holds)) < len(holds):
        node.fail("a proposition stands here twice", "distinct propositions")
    return frozenset(holds)
