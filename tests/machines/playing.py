"""Random policies and machines, and the returns they earn, worked out by a simple recursion."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from hypothesis import strategies as st

from clew.machines import Edge, Labelling, Pomdp, PomdpRM, RewardMachine
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
    """The POMDP's and the machine's expected return, played out on episodes.

    A chain over (state, o, u, memory), solved by plain elimination. Where episodes stop, a step
    into a terminal state is the last one: it pays, and nothing follows.
    """
    pomdp, labels, edges = product.pomdp, product.labelling.table, product.machine.edges
    begins = [
        ((b.state, b.observation, product.machine.initial, 0), b.probability) for b in pomdp.start
    ]
    order = list(dict.fromkeys(node for node, _ in begins))
    rows: list[dict[object, Fraction]] = []
    for s, o, u, m in order:  # it grows while it is walked
        action, memory = controller[m, o]
        row: dict[object, Fraction] = defaultdict(Fraction)
        row[s, o, u, m] += 1
        for b in pomdp.steps[s][action]:
            label = labels.get((o, action, b.observation), frozenset())
            to, paid = edges[u].get(label, (u, Fraction(0)))
            row["pomdp"] += b.probability * b.reward
            row["machine"] += b.probability * paid
            if pomdp.end == "stops" and b.state in pomdp.terminal:
                continue
            after = (b.state, b.observation, to, memory)
            if after not in order:
                order.append(after)
            row[after] -= pomdp.discount * b.probability
        rows.append(row)
    values = _eliminated(rows, order)
    sides = [sum((p * values[node][side] for node, p in begins), Fraction(0)) for side in (0, 1)]
    return sides[0], sides[1]


def _eliminated(rows: list[dict[object, Fraction]], order: list) -> dict:
    """Gauss and Jordan, one node after the other."""
    for i, pivot in enumerate(order):
        mine = {x: k / rows[i][pivot] for x, k in rows[i].items()}
        rows[i] = mine
        for j, other in enumerate(rows):
            if j != i and (factor := other.get(pivot)):
                for x, k in mine.items():
                    other[x] = other.get(x, Fraction(0)) - factor * k
    zero = Fraction(0)
    return {
        node: (row.get("pomdp", zero), row.get("machine", zero))
        for node, row in zip(order, rows, strict=True)
    }
