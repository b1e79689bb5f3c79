"""Our own JSON into a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction

from clew.machines.formats.clewjson.values import (
    KINDS,
    Node,
    fields,
    fraction,
    items,
    members,
    names,
    of_kind,
    parse_json,
    pick,
    probability,
    text,
    texts,
)
from clew.machines.formats.clewjson.write import FORMAT, MACHINE, POMDP, PRODUCT, VERSION, Model
from clew.machines.formats.text import LIMITS, Limits
from clew.machines.model.ends import ENDS
from clew.machines.model.pomdp import Begin, Branch, Pomdp
from clew.machines.model.reward_machine import Edge, Label, Labelling, PomdpRM, RewardMachine
from clew.validate import BadInput

Index = Mapping[str, int]
Steps = tuple[tuple[tuple[Branch, ...], ...], ...]


def parse_clew_json(document: str, limits: Limits = LIMITS) -> Model:
    """Read a model."""
    node = parse_json(document, limits)
    found = members(node)
    header = {"format": (FORMAT,), "version": (VERSION,), "kind": (POMDP, MACHINE, PRODUCT)}
    for name, valid in header.items():
        if name not in found:
            node.fail(f"the field {name!r} is missing", f"an object with {', '.join(header)}")
        if of_kind(found[name], type(valid[0])) not in valid:
            found[name].fail(f"this {name} is not known", " or ".join(map(repr, valid)))
    body = Node({n: v.value for n, v in found.items() if n not in header}, (), document)
    readers: dict[str, Callable[[Node, Limits], Model]] = {
        POMDP: _pomdp,
        MACHINE: _machine,
        PRODUCT: _product,
    }
    return readers[text(found["kind"])](body, limits)


def _pomdp(node: Node, limits: Limits) -> Pomdp:
    needed = ("discount", "states", "actions", "observations", "start", "steps")
    part = fields(node, needed, ("name", "terminal", "variables", "notes", "end", "draws"))
    states, actions, seen = (names(part[kind]) for kind in needed[1:4])
    limits.of_tables(part["states"].place, len(states), len(actions), len(seen))
    discount = fraction(part["discount"])
    end = text(part["end"]) if "end" in part else ENDS[0]
    if end not in ENDS:
        part["end"].fail("this convention of the end is not known", " or ".join(map(repr, ENDS)))
    steps = _steps(part["steps"], states, actions, seen)
    ends = _terminal(part["terminal"], states, steps) if "terminal" in part else frozenset()
    begins = _start(part["start"], states, seen)
    if any(begin.state in ends for begin in begins):
        part["start"].fail("an episode begins in a terminal state", "states that are not terminal")
    pomdp = Pomdp(
        states=tuple(states),
        actions=tuple(actions),
        observations=tuple(seen),
        start=begins,
        steps=steps,
        discount=Fraction(1, 2),  # until all else is known to be right
        terminal=ends,
        variables=_variables(part["variables"], len(states)) if "variables" in part else {},
        name=text(part["name"]) if "name" in part else "POMDP",
        notes=texts(part["notes"]) if "notes" in part else (),
        end=end,
        draws=max(of_kind(part["draws"], int), 0) if "draws" in part else 0,
    )
    try:
        return replace(pomdp, discount=discount)
    except BadInput as error:
        part["discount"].fail(str(error), "a discount between 0 and 1")


def _start(node: Node, states: Index, seen: Index) -> tuple[Begin, ...]:
    begins = []
    for item in items(node):
        s, o, p = items(item, 3, "state, observation, probability")
        begins.append(Begin(pick(s, states, "state"), pick(o, seen, "observation"), probability(p)))
    _adds_up(node, "the start probabilities", sum((b.probability for b in begins), Fraction(0)))
    return tuple(begins)


def _steps(node: Node, states: Index, actions: Index, seen: Index) -> Steps:
    rows: list[list[list[Branch]]] = [[[] for _ in actions] for _ in states]
    last: dict[tuple[int, int], Node] = {}
    for item in items(node):
        what = "state, action, next state, observation, probability, reward"
        s, a, s2, o, p, r = items(item, 6, what)
        here = (pick(s, states, "state"), pick(a, actions, "action"))
        after, shown = pick(s2, states, "state"), pick(o, seen, "observation")
        rows[here[0]][here[1]].append(Branch(after, shown, probability(p), fraction(r)))
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


def _terminal(node: Node, states: Index, steps: Steps) -> frozenset[int]:
    ends = {pick(item, states, "state"): item for item in items(node)}
    for s, item in ends.items():
        if any(b.state not in ends or b.reward for row in steps[s] for b in row):
            wanted = "a state that pays nothing and leads to terminal states only"
            item.fail("this state pays something or leads to another state", wanted)
    return frozenset(ends)


def _variables(node: Node, states: int) -> dict[str, tuple[Hashable, ...]]:
    what = "one value for each state"
    return {
        name: tuple(_plain(item) for item in items(values, states, what))
        for name, values in members(node).items()
    }


def _plain(node: Node) -> Hashable:
    """A value of a latent variable: arrays are tuples, and fractions stand in an object."""
    kind = type(node.value)
    if kind is list:
        return tuple(_plain(item) for item in items(node))
    if kind is dict:
        return fraction(fields(node, ("fraction",))["fraction"])
    if kind is Fraction:
        node.fail(f"this is {KINDS[Fraction]}", 'a whole number or {"fraction":…}')
    if kind in (bool, int, type(None)):
        return of_kind(node, kind)
    return text(node)


def _machine(node: Node, limits: Limits) -> RewardMachine:
    del limits
    part = fields(node, ("states", "initial", "edges"), ("terminal", "name"))
    states = names(part["states"])
    listed = items(part["terminal"]) if "terminal" in part else []
    ends = frozenset(pick(item, states, "state") for item in listed)
    rows: list[dict[Label, Edge]] = [{} for _ in states]
    for item in items(part["edges"]):
        u, label, v, reward = items(item, 4, "state, propositions, next state, reward")
        source, holds = pick(u, states, "state"), _label(label)
        if source in ends:
            u.fail("a terminal state has no edges", "a state that is not terminal")
        if holds in rows[source]:
            label.fail("this state lists these propositions twice", "another set of propositions")
        rows[source][holds] = Edge(pick(v, states, "state"), fraction(reward))
    initial = pick(part["initial"], states, "state")
    name = text(part["name"]) if "name" in part else "machine"
    return RewardMachine(tuple(states), tuple(rows), initial, ends, name)


def _product(node: Node, limits: Limits) -> PomdpRM:
    part = fields(node, ("pomdp", "labelling", "machine"))
    pomdp = _pomdp(part["pomdp"], limits)
    return PomdpRM(pomdp, _labelling(part["labelling"], pomdp), _machine(part["machine"], limits))


def _labelling(node: Node, pomdp: Pomdp) -> Labelling:
    seen = {name: index for index, name in enumerate(pomdp.observations)}
    actions = {name: index for index, name in enumerate(pomdp.actions)}
    table: dict[tuple[int, int, int], Label] = {}
    for item in items(node):
        o, a, o2, label = items(item, 4, "observation, action, next observation, propositions")
        first, after = pick(o, seen, "observation"), pick(o2, seen, "observation")
        triple = (first, pick(a, actions, "action"), after)
        if triple in table:
            item.fail("this triple is labelled twice", "another triple")
        table[triple] = _label(label)
    return Labelling(table)


def _label(node: Node) -> Label:
    holds = texts(node)
    if len(set(holds)) < len(holds):
        node.fail("a proposition stands here twice", "distinct propositions")
    return frozenset(holds)
