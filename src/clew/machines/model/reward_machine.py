"""Reward machines ⟨U, u₀, δ_u, δ_r⟩ over labels, and labellings of what is observed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from clew.machines.exact.graphs import reached
from clew.machines.exact.numbers import NumberLike, rational
from clew.machines.model.pomdp import Pomdp
from clew.validate import BadInput, hint, known_names, listing

Label = frozenset[str]
"""The propositions that hold."""
ObservedStep = tuple[int, int, int]
"""Observation, action, next observation."""
NOTHING: Label = frozenset()


class Edge(NamedTuple):
    """δ_u and δ_r of one state and label."""

    state: int
    reward: Fraction


@dataclass(frozen=True)
class RewardMachine:
    """A label that a state does not list leaves the machine where it is and pays nothing."""

    states: tuple[str, ...]
    edges: tuple[Mapping[Label, Edge], ...]
    """By state."""
    initial: int = 0
    terminal: frozenset[int] = frozenset()
    """Drawn as final; they list no edges."""
    name: str = "machine"

    def __post_init__(self) -> None:
        n = len(self.states)
        if n == 0 or len(set(self.states)) < n or len(self.edges) != n:
            raise BadInput(f"{self.name}: states must have distinct names and a row of edges each")
        for u in (
            self.initial,
            *self.terminal,
            *(e.state for row in self.edges for e in row.values()),
        ):
            if not 0 <= u < n:
                raise BadInput(f"{self.name}: state {u} does not exist; there are {n}")
        for u in self.terminal:
            if self.edges[u]:
                raise BadInput(f"{self.name}: terminal state {self.states[u]!r} has edges")

    @staticmethod
    def build(
        edges: Iterable[tuple[str, Iterable[str], str, NumberLike]],
        *,
        initial: str | None = None,
        terminal: Iterable[str] = (),
        name: str = "machine",
    ) -> RewardMachine:
        """Write a machine as its edges: (state, propositions that hold, next state, reward)."""
        listed = [(u, frozenset(label), v, reward) for u, label, v, reward in edges]
        order = dict.fromkeys([*([initial] if initial else ()), *(u for u, *_ in listed)])
        order.update(dict.fromkeys([*(v for _, _, v, _ in listed), *terminal]))
        index = {state: place for place, state in enumerate(order)}
        if not index:
            raise BadInput(f"{name} has no states")
        rows: list[dict[Label, Edge]] = [{} for _ in index]
        for u, label, v, reward in listed:
            if label in rows[index[u]]:
                raise BadInput(f"{name}: state {u!r} lists {show(label)} twice")
            rows[index[u]][label] = Edge(index[v], rational(f"reward of {u}", reward))
        ends = frozenset(index[u] for u in terminal)
        return RewardMachine(tuple(index), tuple(rows), 0, ends, name)

    @cached_property
    def propositions(self) -> frozenset[str]:
        """The propositions that some edge names."""
        return frozenset(p for row in self.edges for label in row for p in label)

    def step(self, state: int, label: Label) -> Edge:
        """Where a label leads, and what it pays."""
        return self.edges[state].get(label) or Edge(state, Fraction(0))


@dataclass(frozen=True)
class Labelling:
    """L : O × A × O → 2^P. A triple that is not listed has no propositions."""

    table: Mapping[ObservedStep, Label]

    @staticmethod
    def of(pomdp: Pomdp, holds: Callable[[str, str, str], Iterable[str]]) -> Labelling:
        """Label by names: `holds(o, a, o')` gives the propositions that hold."""
        named = (pomdp.observations, pomdp.actions, pomdp.observations)
        table = {
            triple: frozenset(holds(*(names[i] for names, i in zip(named, triple, strict=True))))
            for triple in triples(pomdp)
        }
        return Labelling({triple: label for triple, label in table.items() if label})

    @staticmethod
    def injective(pomdp: Pomdp) -> Labelling:
        """Every triple that can occur gets a label of its own."""
        return Labelling.of(pomdp, lambda o, a, o2: (f"{o} · {a} · {o2}",))

    @staticmethod
    def by_name(pomdp: Pomdp, propositions: Iterable[str]) -> Labelling:
        """Label by what propositions are called, for machines that bring no labelling.

        `action:NAME` holds where that action was taken, `after:NAME` where it showed that
        observation, `before:NAME` where that observation was the last one. A bare NAME is an
        action or the observation after it. Signs that no formula can have are written `_`.
        """
        meanings = _meanings(pomdp)
        meant: dict[str, tuple[int, int]] = {}
        for proposition in propositions:
            found = meanings.get(proposition, {})
            if len(found) != 1:
                short = [name for name in meanings if ":" not in name]
                choice = listing(found.values()) if found else _some(short)
                problem = "can mean" if found else f"names nothing in {pomdp.name}; choose"
                near = "" if found else hint(proposition, meanings)
                raise BadInput(f"proposition {proposition!r} {problem} {choice}{near}")
            meant[proposition] = next(iter(found))
        table = {
            step: frozenset(p for p, (part, index) in meant.items() if step[part] == index)
            for step in triples(pomdp)
        }
        return Labelling({step: label for step, label in table.items() if label})

    def __call__(self, o: int, a: int, o2: int) -> Label:
        """The propositions that hold on a step."""
        return self.table.get((o, a, o2), NOTHING)


def triples(pomdp: Pomdp) -> Iterable[ObservedStep]:
    """The (o, a, o') that can occur in an episode, each once."""
    steps, over = pomdp.steps, pomdp.over
    shown = reached(
        ((b.state, b.observation) for b in pomdp.start),
        lambda at: (
            (b.state, b.observation) for row in steps[at[0]] for b in row if b.state not in over
        ),
    )
    ways = ((o, a, row) for s, o in shown for a, row in enumerate(steps[s]))
    return sorted({(o, a, b.observation) for o, a, row in ways for b in row})


def _meanings(pomdp: Pomdp) -> dict[str, dict[tuple[int, int], str]]:
    """By proposition: the part of a step and the number there that it names, and its full name."""
    seen, found = pomdp.observations, dict[str, dict[tuple[int, int], str]]()
    parts = {"before": seen, "action": pomdp.actions, "after": seen}
    for part, (word, names) in enumerate(parts.items()):
        for index, name in enumerate(names):
            plain = re.sub(r"[\s!&|()'\",\\#]", "_", name)
            for proposition in (f"{word}:{plain}", *([plain] if word != "before" else [])):
                found.setdefault(proposition, {})[part, index] = f"{word}:{name}"
    return found


def _some(names: list[str], most: int = 20) -> str:
    more = f" (and {len(names) - most} more)" if len(names) > most else ""
    return listing(names[:most]) + more


def show(label: Label) -> str:
    """A label as people write it."""
    return ", ".join(sorted(label)) or "∅"


def check_propositions(machine: RewardMachine, labelling: Labelling) -> None:
    """Refuse a machine that waits for a proposition no label ever has: it is a misspelling."""
    known = {p for label in labelling.table.values() for p in label}
    known_names("proposition", sorted(machine.propositions), known)


@dataclass(frozen=True)
class PomdpRM:
    """⟨S, A, O, p, ω, γ, μ, P, L, R⟩, with the POMDP whose reward it may or may not encode.

    x₀ = u₀, x_{t+1} = δ_u(x_t, L(o_t, a_t, o_{t+1})), and it pays δ_r on the way.
    """

    pomdp: Pomdp
    labelling: Labelling
    machine: RewardMachine

    def step(self, u: int, o: int, a: int, o2: int) -> Edge:
        """One step of the machine along what is observed."""
        key = (u, o, a, o2)
        if key not in self._memo:
            self._memo[key] = self.machine.step(u, self.labelling(o, a, o2))
        return self._memo[key]

    @cached_property
    def _memo(self) -> dict[tuple[int, int, int, int], Edge]:
        return {}
