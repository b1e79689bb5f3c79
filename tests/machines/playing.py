"""Random policies and machines, and the returns they earn, worked out by a simple recursion."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from hypothesis import strategies as st

from clew.machines import Edge, Labelling, Pomdp, PomdpRM, RewardMachine
from clew.machines.exact.linear import fixed_point
from clew.machines.model.reward_machine import triples

Controller = dict[tuple[int, int], tuple[int, int]]
"""(memory, observation) → (action, next memory): a policy of the history."""


@st.composite
def machines_on(draw: st.DrawFn, pomdp: Pomdp, n: int = 2) -> PomdpRM:
    """A machine that looks at everything, with small rewards."""
    labelling = Labelling.injective(pomdp)
    edges = [
        {
            labelling(*triple): Edge(draw(st.integers(0, n - 1)), Fraction(draw(st.integers(0, 2))))
            for triple in triples(pomdp)
        }
        for _ in range(n)
    ]
    machine = RewardMachine(tuple(f"u{i}" for i in range(n)), tuple(edges))
    return PomdpRM(pomdp, labelling, machine)


@st.composite
def controllers_on(draw: st.DrawFn, pomdp: Pomdp, memory: int = 2) -> Controller:
    return {
        (m, o): (draw(st.integers(0, len(pomdp.actions) - 1)), draw(st.integers(0, memory - 1)))
        for m in range(memory)
        for o in range(len(pomdp.observations))
    }


def returns(product: PomdpRM, controller: Controller) -> tuple[Fraction, Fraction]:
    """The POMDP's and the machine's expected return: a chain over (state, o, u, memory)."""
    pomdp = product.pomdp
    begins = [
        ((b.state, b.observation, product.machine.initial, 0), b.probability) for b in pomdp.start
    ]
    order = list(dict.fromkeys(node for node, _ in begins))
    place = {node: i for i, node in enumerate(order)}
    paid: tuple[list[Fraction], list[Fraction]] = ([], [])
    terms = []
    for s, o, u, m in order:
        action, memory = controller[m, o]
        row: dict[int, Fraction] = defaultdict(Fraction)
        total = [Fraction(0), Fraction(0)]
        for b in pomdp.steps[s][action]:
            edge = product.step(u, o, action, b.observation)
            after = (b.state, b.observation, edge.state, memory)
            if after not in place:
                place[after] = len(order)
                order.append(after)
            row[place[after]] += pomdp.discount * b.probability
            total[0] += b.probability * b.reward
            total[1] += b.probability * edge.reward
        terms.append(row)
        for side in (0, 1):
            paid[side].append(total[side])
    sides = []
    for side in (0, 1):
        values = fixed_point(paid[side], terms)
        sides.append(sum((p * values[place[node]] for node, p in begins), Fraction(0)))
    return sides[0], sides[1]
