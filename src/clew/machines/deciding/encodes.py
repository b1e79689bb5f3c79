"""Does a machine encode a POMDP's reward: equal expected returns under every history policy?

It does iff there is a potential Ψ over histories, zero on average at the start, with

    E[r̃ + γ Ψ(h a o') | h, a] − Ψ(h) = E[r | h, a]      for every history h and action a.

(⇐ telescopes; ⇒ two policies that differ only after h leave the same expected difference, Ψ(h).)
Ψ(h) is then the machine's value minus the POMDP's under any one continuation, for instance that
of repeating one action for ever, which is linear in the filter α(h). So the equation has to be
checked on a basis of histories only (`spaces`), posteriors finite or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from clew.machines.certificates.claims import (
    Differs,
    Encodes,
    History,
    Tails,
    Triple,
)
from clew.machines.deciding.returns import always, deviation_returns, start_returns, tails
from clew.machines.deciding.spaces import Spaces, reachable, spaces
from clew.machines.model.reward_machine import PomdpRM


class Surprise(NamedTuple):
    """A step that the machine rewards otherwise than the POMDP does."""

    state: int
    observation: int
    machine_state: int
    action: int
    next_state: int
    next_observation: int
    reward: Fraction
    machine_reward: Fraction


def encodes(product: PomdpRM, known: Spaces | None = None, default: int = 0) -> Encodes | Differs:
    """Decide; `default` is the action whose endless repetition defines Ψ."""
    known = known or spaces(product)
    tail = tails(product, known.triples, always(default))
    potential = {triple: value - tail.pomdp[triple] for triple, value in tail.machine.items()}
    at_start = start_returns(product, tail)
    if at_start.pomdp != at_start.machine:
        return _differs(product, tail, known.basis[0].history, default, default)
    rest = imbalances(product, potential)
    for vector in known.basis:
        for action, row in enumerate(rest):
            o, u = vector.site
            if sum((w * row[s, o, u] for s, w in vector.weights.items()), Fraction(0)):
                return _differs(product, tail, vector.history, action, default)
    return Encodes(product, potential, known.basis)


def imbalances(
    product: PomdpRM, potential: Mapping[Triple, Fraction]
) -> list[dict[Triple, Fraction]]:
    """Left minus right side of the equation, by action, for every triple alone."""
    gamma = product.pomdp.discount
    found: list[dict[Triple, Fraction]] = [{} for _ in product.pomdp.actions]
    for (s, o, u), value in potential.items():
        for action, row in enumerate(product.pomdp.steps[s]):
            here = -value
            for b in row:
                u2, paid = product.step(u, o, action, b.observation)
                after = potential[b.state, b.observation, u2]
                here += b.probability * (paid - b.reward + gamma * after)
            found[action][s, o, u] = here
    return found


def surprises(product: PomdpRM) -> Iterator[Surprise]:
    """The steps on which machine and POMDP pay differently; none if it reproduces the reward."""
    for s, o, u in reachable(product):
        for a, row in enumerate(product.pomdp.steps[s]):
            for b in row:
                paid = product.step(u, o, a, b.observation).reward
                if paid != b.reward:
                    yield Surprise(s, o, u, a, b.state, b.observation, b.reward, paid)


def _differs(product: PomdpRM, tail: Tails, history: History, action: int, default: int) -> Differs:
    return Differs(
        product,
        history,
        action,
        default,
        tail,
        deviation_returns(product, tail, history, action, default),
        deviation_returns(product, tail, history, default, default),
    )
