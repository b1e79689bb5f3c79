"""All histories of a POMDP with a machine, as finitely many vectors.

The unnormalised filter α(h) of a history is a vector over states, and one step of it is linear.
The histories that end in observation o with the machine in u span a space V(o, u) of finite
dimension, even where the posteriors are not finite. Breadth-first search finds a basis of
histories (Schützenberger; Tzeng 1992): whatever is linear in α and holds for the basis holds for
every history.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clew.machines.certificates.claims import History, Site, Triple, Vector
from clew.machines.exact.graphs import reached
from clew.machines.exact.linear import Span
from clew.machines.model.belief import Stepper, coprime
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import PomdpRM


@dataclass(frozen=True)
class Spaces:
    """A basis of histories for every site, in breadth-first order: prefixes come first."""

    basis: tuple[Vector, ...]
    triples: tuple[Triple, ...]
    """Everything that can occur together, states first."""

    def at(self) -> dict[Site, list[Vector]]:
        """The basis by site."""
        found: dict[Site, list[Vector]] = defaultdict(list)
        for vector in self.basis:
            found[vector.site].append(vector)
        return found


def spaces(product: PomdpRM) -> Spaces:
    """Search until no successor of a basis vector is new. It looks at transitions, not rewards."""
    step = Stepper(product.pomdp)
    found = reachable(product)
    room = Counter((o, u) for _, o, u in found)
    # a space that is full contains everything: what leads there need not be worked out
    wanting = Counter(o for o, _ in room)
    spans: dict[Site, Span] = defaultdict(Span)
    basis: list[Vector] = []

    def offer(history: History, site: Site, weights: dict[int, int]) -> None:
        if len(spans[site]) < room[site] and spans[site].add(weights):
            basis.append(Vector(history, site, weights))
            wanting[site[0]] -= len(spans[site]) == room[site]

    for cell, _ in step.begin():
        site = (cell.observation, product.machine.initial)
        offer((cell.observation,), site, dict(cell.posterior))
    for history, (o, u), weights in basis:
        for a in range(len(product.pomdp.actions)):
            for o2, after in push(step, weights, a, wanting).items():
                offer((*history, a, o2), (o2, product.step(u, o, a, o2).state), after)
    return Spaces(tuple(basis), found)


def push(
    step: Stepper, weights: dict[int, int], action: int, wanting: Mapping[int, int]
) -> dict[int, dict[int, int]]:
    """The filters after an action, by those next observations that are still wanting."""
    seen: dict[int, dict[int, int]] = {}
    for s, w in weights.items():
        for s2, o, _, p in step.whole[s][action]:
            if wanting[o] and s2 not in step.over:
                after = seen.setdefault(o, {})
                after[s2] = after.get(s2, 0) + w * p
    return {o: coprime(after) for o, after in sorted(seen.items())}


def reachable(product: PomdpRM) -> tuple[Triple, ...]:
    """The (state, observation, machine state) in which an episode can go on."""
    pomdp, step = product.pomdp, product.step

    def after(triple: Triple) -> Iterator[Triple]:
        s, o, u = triple
        for a, row in enumerate(pomdp.steps[s]):
            for b in row:
                if b.state not in pomdp.over:
                    yield b.state, b.observation, step(u, o, a, b.observation).state

    begins = ((b.state, b.observation, product.machine.initial) for b in pomdp.start)
    return tuple(sorted(reached(begins, after)))


def in_words(pomdp: Pomdp, history: Iterable[int]) -> str:
    """A history as a person reads it: what was seen, and → what was done."""
    words = []
    for place, index in enumerate(history):
        names = pomdp.actions if place % 2 else pomdp.observations
        words.append(f"→ {names[index]} →" if place % 2 else names[index])
    return " ".join(words)
