"""Does a machine *structure*, states and transitions without rewards, admit any encoder?

With the rewards as unknowns, the equation of `encodes` is a linear system in ρ(u, label) and ψ.
It has a solution, which makes the structure an encoder, or a combination of its equations reads
0 = 1, which rules out every choice of rewards.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction

from clew.machines.linear import solve
from clew.machines.machine import Edge, Label, RewardMachine
from clew.machines.product import PomdpRM
from clew.machines.spaces import History, Spaces, Triple, Vector, spaces

Unknown = Triple | tuple[int, Label]
Equation = tuple[dict[Unknown, Fraction], Fraction]


@dataclass(frozen=True)
class Refuted:
    """No rewards make this structure an encoder: these multiples of the equations read 0 = 1.

    An equation belongs to a history of the basis and an action; None stands for the start.
    """

    product: PomdpRM
    multiples: tuple[tuple[History | None, int, Fraction], ...]

    def __bool__(self) -> bool:
        return False


def admits(product: PomdpRM, known: Spaces | None = None) -> PomdpRM | Refuted:
    """The same structure with rewards that encode, or the proof that there are none.

    The rewards that `product` has are not looked at.
    """
    known = known or spaces(product)
    origin: list[tuple[History | None, int]] = [(None, 0)]
    equations = [start_equation(product)]
    for vector in known.basis:
        for action in range(len(product.pomdp.actions)):
            origin.append((vector.history, action))
            equations.append(equation(product, vector, action))
    # rewards alone, with Ψ = 0, make a machine that is easier to read, where they suffice
    for keep in (_is_reward, lambda unknown: True):
        names: dict[Unknown, int] = {}
        rows = [
            {names.setdefault(x, len(names)): k for x, k in left.items() if keep(x)}
            for left, _ in equations
        ]
        solution = solve(rows, [value for _, value in equations])
        if solution is not None:
            paid = {x: solution.get(place, Fraction(0)) for x, place in names.items()}
            return replace(product, machine=_with_rewards(product.machine, paid))
    return Refuted(product, _combination(rows, [value for _, value in equations], origin))


def _is_reward(unknown: Unknown) -> bool:
    return len(unknown) == 2


def start_equation(product: PomdpRM) -> Equation:
    """E[Ψ(o₀)] = 0."""
    left: dict[Unknown, Fraction] = defaultdict(Fraction)
    for b in product.pomdp.start:
        left[b.state, b.observation, product.machine.initial] += b.probability
    return left, Fraction(0)


def equation(product: PomdpRM, vector: Vector, action: int) -> Equation:
    """E[ρ + γΨ(h a o')] − Ψ(h) = E[r]."""
    (o, u), gamma = vector.site, product.pomdp.discount
    left: dict[Unknown, Fraction] = defaultdict(Fraction)
    right = Fraction(0)
    total = sum(vector.weights.values())
    for s, whole in vector.weights.items():
        weight = Fraction(whole, total)
        left[s, o, u] -= weight
        for b in product.pomdp.steps[s][action]:
            chance = weight * b.probability
            u2 = product.step(u, o, action, b.observation).state
            left[u, product.labelling(o, action, b.observation)] += chance
            left[b.state, b.observation, u2] += gamma * chance
            right += chance * b.reward
    return {x: k for x, k in left.items() if k}, right


def _combination(
    rows: list[dict[int, Fraction]],
    right: list[Fraction],
    origin: list[tuple[History | None, int]],
) -> tuple[tuple[History | None, int, Fraction], ...]:
    """The multiples y with yA = 0 and y·b = 1: a system of the same kind, turned around."""
    turned: dict[int, dict[int, Fraction]] = defaultdict(dict)
    for i, row in enumerate(rows):
        for j, value in row.items():
            turned[j][i] = value
    system = [*turned.values(), {i: b for i, b in enumerate(right) if b}]
    answer = solve(system, [*([Fraction(0)] * len(turned)), Fraction(1)])
    if answer is None:
        raise ArithmeticError("a linear system must have a solution or a refutation")
    return tuple((*origin[i], y) for i, y in sorted(answer.items()) if y)


def _with_rewards(machine: RewardMachine, paid: dict[Unknown, Fraction]) -> RewardMachine:
    """Every label that can occur gets an edge, so that it can pay even where the machine stays."""
    edges = [dict(row) for row in machine.edges]
    for unknown, reward in paid.items():
        if len(unknown) == 2:
            u, label = unknown
            edges[u][label] = Edge(machine.step(u, label).state, reward)
    return replace(machine, edges=tuple(edges), terminal=frozenset())
