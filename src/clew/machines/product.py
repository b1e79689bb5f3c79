"""A POMDP with a reward machine, and rewards that depend on the past."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from clew.machines.machine import Edge, Labelling, RewardMachine
from clew.machines.pomdp import Begin, Branch, Pomdp


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


def with_latent_machine(
    pomdp: Pomdp,
    machine: RewardMachine,
    holds: Callable[[str, str, str], Iterable[str]],
) -> Pomdp:
    """The POMDP over S × U' whose reward is what a latent machine pays: a reward over traces.

    `holds(s, a, s')` names the propositions of a latent transition. The rewards of `pomdp`
    itself are not used; the machine's state joins the latent variables as `machine`.
    """
    order = list(dict.fromkeys((begin.state, machine.initial) for begin in pomdp.start))
    number = {pair: place for place, pair in enumerate(order)}

    def branch(s: int, u: int, a: int, way: Branch) -> Branch:
        label = holds(pomdp.states[s], pomdp.actions[a], pomdp.states[way.state])
        after, paid = machine.step(u, frozenset(label))
        pair = (way.state, after)
        if pair not in number:
            number[pair] = len(order)
            order.append(pair)
        return Branch(number[pair], way.observation, way.probability, paid)

    # `order` grows while it is walked
    steps = tuple(
        tuple(tuple(branch(s, u, a, way) for way in row) for a, row in enumerate(pomdp.steps[s]))
        for s, u in order
    )
    variables = {v: tuple(values[s] for s, _ in order) for v, values in pomdp.variables.items()}
    return Pomdp(
        states=tuple(f"{pomdp.states[s]} / {machine.states[u]}" for s, u in order),
        actions=pomdp.actions,
        observations=pomdp.observations,
        start=tuple(
            Begin(number[b.state, machine.initial], b.observation, b.probability)
            for b in pomdp.start
        ),
        steps=steps,
        discount=pomdp.discount,
        variables={**variables, "machine": tuple(machine.states[u] for _, u in order)},
        name=f"{pomdp.name} with {machine.name}",
        notes=pomdp.notes,
    )
