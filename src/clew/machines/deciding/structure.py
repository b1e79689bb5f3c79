"""Does a machine *structure*, states and transitions without rewards, admit any encoder?

With the rewards as unknowns, the equation of `encodes` is a linear system in ρ(u, label) and ψ.
It has a solution, which makes the structure an encoder, or a combination of its equations reads
0 = 1, which rules out every choice of rewards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import lcm
from typing import NamedTuple

from clew.machines.certificates.claims import History, Refuted, Triple
from clew.machines.deciding.spaces import Spaces, spaces
from clew.machines.exact.linear import solve
from clew.machines.model.reward_machine import Edge, Label, PomdpRM, RewardMachine

Unknown = Triple | tuple[int, Label]


def admits(product: PomdpRM, known: Spaces | None = None) -> PomdpRM | Refuted:
    """The same structure with rewards that encode, or the proof that there are none.

    The rewards that `product` has are not looked at.
    """
    system = _System(product, known or spaces(product))
    return system.rewarded() or Refuted(product, system.combination())


def rewarded(product: PomdpRM, known: Spaces | None = None) -> PomdpRM | None:
    """The same structure with rewards that encode, if some were found."""
    return _System(product, known or spaces(product)).rewarded()


class _System:
    def __init__(self, product: PomdpRM, known: Spaces):
        self.product = product
        self.equations = [_start(product), *_equations(product, known)]

    def rows(self, psi: bool) -> tuple[list[dict[int, int]], dict[Unknown, int]]:
        """The left sides, with or without the potential."""
        names: dict[Unknown, int] = {}
        kept = (
            [(x, k) for x, k in equation.left.items() if psi or _is_reward(x)]
            for equation in self.equations
        )
        return [{names.setdefault(x, len(names)): k for x, k in row} for row in kept], names

    def rewarded(self) -> PomdpRM | None:
        right = [equation.right for equation in self.equations]
        # rewards alone, with Ψ = 0, make a machine that is easier to read, where they suffice
        for psi in (False, True):
            rows, names = self.rows(psi)
            solution = solve(rows, right)
            if solution is not None:
                paid = {x: solution.get(place, Fraction(0)) for x, place in names.items()}
                machine = _with_rewards(self.product.machine, paid)
                return replace(self.product, machine=machine)
        return None

    def combination(self) -> tuple[tuple[History | None, int, Fraction], ...]:
        """The multiples y with yA = 0 and y·b = 1: a system of the same kind, turned around."""
        turned: dict[int, dict[int, int]] = defaultdict(dict)
        equations = self.equations
        for i, row in enumerate(self.rows(True)[0]):
            for j, value in row.items():
                turned[j][i] = value
        right = {i: equation.right for i, equation in enumerate(equations) if equation.right}
        answer = solve([*turned.values(), right], [*([0] * len(turned)), 1])
        if answer is None:
            raise ArithmeticError("a linear system must have a solution or a refutation")
        return tuple(
            (equations[i].history, equations[i].action, y * equations[i].scale)
            for i, y in sorted(answer.items())
            if y
        )


class Equation(NamedTuple):
    """E[ρ + γΨ(h a o')] − Ψ(h) = E[r], times `scale`, which makes everything whole."""

    history: History | None
    action: int
    left: dict[Unknown, int]
    right: int
    scale: int


def _start(product: PomdpRM) -> Equation:
    """E[Ψ(o₀)] = 0."""
    scale = lcm(*(b.probability.denominator for b in product.pomdp.start))
    left: dict[Unknown, int] = defaultdict(int)
    for b in product.pomdp.start:
        left[b.state, b.observation, product.machine.initial] += int(b.probability * scale)
    return Equation(None, 0, left, 0, scale)


def _equations(product: PomdpRM, known: Spaces) -> Iterator[Equation]:
    """One for every history of the basis and action: weighted sums over single triples."""
    gamma, steps = product.pomdp.discount, product.pomdp.steps
    branches = [b for rows in steps for row in rows for b in row]
    scale = gamma.denominator * lcm(*{b.probability.denominator for b in branches})
    scale *= lcm(*{b.reward.denominator for b in branches})

    @cache
    def alone(s: int, o: int, u: int, action: int) -> tuple[dict[Unknown, int], int]:
        left: dict[Unknown, int] = defaultdict(int)
        left[s, o, u] -= scale
        right = 0
        for b in steps[s][action]:
            chance = b.probability.numerator * (scale // b.probability.denominator)
            u2 = product.step(u, o, action, b.observation).state
            left[u, product.labelling(o, action, b.observation)] += chance
            right += chance // b.reward.denominator * b.reward.numerator
            if b.state not in product.pomdp.over:
                left[b.state, b.observation, u2] += chance // gamma.denominator * gamma.numerator
        return left, right

    for vector in known.basis:
        for action in range(len(product.pomdp.actions)):
            left: dict[Unknown, int] = defaultdict(int)
            right = 0
            for s, weight in vector.weights.items():
                part, value = alone(s, *vector.site, action)
                for x, k in part.items():
                    left[x] += weight * k
                right += weight * value
            total = scale * sum(vector.weights.values())
            left = {x: k for x, k in left.items() if k}
            yield Equation(vector.history, action, left, right, total)


def _is_reward(unknown: Unknown) -> bool:
    return len(unknown) == 2


def _with_rewards(machine: RewardMachine, paid: dict[Unknown, Fraction]) -> RewardMachine:
    """Every label that can occur gets an edge, so that it can pay even where the machine stays."""
    edges = [dict(row) for row in machine.edges]
    for unknown, reward in paid.items():
        if len(unknown) == 2:
            u, label = unknown
            edges[u][label] = Edge(machine.step(u, label).state, reward)
    return replace(machine, edges=tuple(edges), terminal=frozenset())
