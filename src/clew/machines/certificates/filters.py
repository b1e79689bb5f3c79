"""Filters, laws and spans, worked out anew from the definitions, in plain fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from fractions import Fraction
from math import gcd, lcm

from clew.machines.model.pomdp import Branch, Pomdp
from clew.machines.model.reward_machine import PomdpRM

Weights = dict[int, Fraction]
"""An unnormalised filter: state → weight."""


class Rejected(Exception):  # noqa: N818 (it is what happens to the certificate)
    """The certificate does not prove what it says."""


def demand(holds: bool, what: str) -> None:
    """Reject unless something holds."""
    if not holds:
        raise Rejected(what)


def ended(pomdp: Pomdp, state: int) -> bool:
    """Whether nothing is seen or paid after a step into a state."""
    return pomdp.end == "stops" and state in pomdp.terminal


def first_filters(pomdp: Pomdp) -> dict[int, Weights]:
    """By first observation."""
    found: dict[int, Weights] = defaultdict(lambda: defaultdict(Fraction))
    for s, o, p in pomdp.start:
        found[o][s] += p
    return found


class WholeSteps:
    """The steps of a POMDP with whole numbers for probabilities, all of them times `scale`."""

    def __init__(self, pomdp: Pomdp):
        ways = [b.probability.denominator for rows in pomdp.steps for row in rows for b in row]
        self.scale = lcm(*set(ways))
        numbers: dict[tuple[int, bool, Fraction], int] = {}

        def way(b: Branch) -> tuple[int | None, int, int, int]:
            over, p = ended(pomdp, b.state), b.probability
            kind = numbers.setdefault((b.observation, over, b.reward), len(numbers))
            whole = p.numerator * (self.scale // p.denominator)
            return None if over else b.state, b.observation, kind, whole

        self.ways = [[[way(b) for b in row] for row in rows] for rows in pomdp.steps]
        """[state][action]: (next state, None if it is the end; o', kind, chance)."""
        self.kinds = list(numbers)
        """Every (o', over, r)."""

    def next_filters(
        self, weights: Mapping[int, int], action: int, only: Container[int] | None = None
    ) -> dict[int, dict[int, int]]:
        """By next observation, with the episode going on; if `only` some are asked for, by those.

        The sum of a filter is `scale` times its probability times the sum of the weights.
        """
        found: dict[int, dict[int, int]] = {}
        for s, weight in weights.items():
            for s2, o, _, chance in self.ways[s][action]:
                if s2 is not None and (only is None or o in only):
                    after = found.setdefault(o, {})
                    after[s2] = after.get(s2, 0) + weight * chance
        return found

    def joint_law(
        self, weights: Mapping[int, int], action: int
    ) -> dict[tuple[int, bool, Fraction], Fraction]:
        """Pr(o', over, r | h, a), whatever the weights sum to."""
        found: dict[int, int] = defaultdict(int)
        for s, weight in weights.items():
            for _, _, kind, chance in self.ways[s][action]:
                found[kind] += weight * chance
        total = sum(found.values())
        return {self.kinds[kind]: Fraction(weight, total) for kind, weight in found.items()}


def next_filters(
    pomdp: Pomdp, weights: Weights, action: int, only: Container[int] | None = None
) -> dict[int, Weights]:
    """By next observation, with the episode going on; if `only` some are asked for, by those."""
    found: dict[int, Weights] = defaultdict(lambda: defaultdict(Fraction))
    for s, weight in weights.items():
        for b in pomdp.steps[s][action]:
            if ended(pomdp, b.state):
                continue
            if only is None or b.observation in only:
                found[b.observation][b.state] += weight * b.probability
    return found


def mean_reward(pomdp: Pomdp, weights: Mapping[int, Fraction | int], action: int) -> Fraction:
    """E[r | h, a] for weights that sum to one; times their sum for others."""
    return sum(
        (
            w * b.probability * b.reward
            for s, w in weights.items()
            for b in pomdp.steps[s][action]
            if b.reward
        ),
        Fraction(0),
    )


def joint_law(
    pomdp: Pomdp, weights: Weights, action: int
) -> dict[tuple[int, bool, Fraction], Fraction]:
    """Pr(o', over, r | h, a) for weights that sum to one."""
    law: dict[tuple[int, bool, Fraction], Fraction] = defaultdict(Fraction)
    for s, w in weights.items():
        for b in pomdp.steps[s][action]:
            law[b.observation, ended(pomdp, b.state), b.reward] += w * b.probability
    return dict(law)


def next_law(pomdp: Pomdp, weights: Weights, action: int) -> dict[tuple[int, bool], Fraction]:
    """Pr(o', over | h, a) for weights that sum to one."""
    law: dict[tuple[int, bool], Fraction] = defaultdict(Fraction)
    for (o, over, _), chance in joint_law(pomdp, weights, action).items():
        law[o, over] += chance
    return dict(law)


def normalised(weights: Mapping[int, Fraction | int]) -> Weights:
    """Divided by their sum."""
    total = sum(weights.values())
    return {s: Fraction(w) / total for s, w in weights.items()}


def along(product: PomdpRM, history: tuple[int, ...]) -> tuple[Weights, int]:
    """The posterior and the machine state after a history; rejects impossible ones."""
    u, o = product.machine.initial, history[0]
    filters = first_filters(product.pomdp)
    demand(o in filters, "a history begins with an observation that cannot come first")
    weights = filters[o]
    for action, o2 in zip(history[1::2], history[2::2], strict=True):
        filters = next_filters(product.pomdp, weights, action, (o2,))
        demand(o2 in filters, "a history has probability zero")
        weights, u, o = filters[o2], product.step(u, o, action, o2).state, o2
    return normalised(weights), u


def key_of(observation: int, weights: Mapping[int, Fraction | int]) -> tuple:
    """What tells a cell from all others: the weights in whole numbers without a common factor."""
    return observation, tuple(sorted(shortest(weights).items()))


def shortest(weights: Mapping[int, Fraction | int]) -> dict[int, int]:
    """A multiple in whole numbers without a common factor."""
    scale = lcm(*(w.denominator for w in weights.values()))
    whole = {s: w.numerator * (scale // w.denominator) for s, w in weights.items()}
    factor = gcd(*whole.values())
    return {s: w // factor for s, w in whole.items()}


class Echelon:
    """A span in ℚⁿ, by Gaussian elimination in whole numbers."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[int, int]]] = []

    def rest(self, vector: Mapping[int, Fraction | int]) -> dict[int, int]:
        """What is left of a multiple of a vector after taking multiples of the rows off it."""
        left = shortest(vector) if any(vector.values()) else {}
        for pivot, row in self.rows:
            if left.get(pivot):
                mine, theirs = row[pivot], left[pivot]
                left = {j: mine * v for j, v in left.items()}
                for j, v in row.items():
                    left[j] = left.get(j, 0) - theirs * v
                left = {j: v for j, v in left.items() if v}
                left = shortest(left) if left else left
        return {j: v for j, v in left.items() if v}

    def add(self, vector: Mapping[int, Fraction | int]) -> None:
        """Widen the span by a vector."""
        left = self.rest(vector)
        if left:
            self.rows.append((min(left), left))


def check_basis(
    product: PomdpRM, histories: Iterable[tuple[int, ...]]
) -> list[tuple[tuple[int, int], dict[int, int]]]:
    """Reject unless these histories span all others; returns (site, filter) of each."""
    spans: dict[tuple[int, int], Echelon] = defaultdict(Echelon)
    steps, first = WholeSteps(product.pomdp), first_filters(product.pomdp)
    known: dict[tuple[int, ...], tuple[dict[int, int], int]] = {}
    for history in histories:
        weights, u = known[history] = _one_more(product, history, steps, known)
        spans[history[-1], u].add(weights)
    basis = [((history[-1], u), weights) for history, (weights, u) in known.items()]
    room = _room(product)
    for o, weights in first.items():
        inside = not spans[o, product.machine.initial].rest(weights)
        demand(inside, "a first observation lies outside of the basis")
    # a span as large as its site has room contains everything; look at the others only
    wanting = {site for site, size in room.items() if len(spans[site].rows) < size}
    shown = {o for o, _ in wanting}
    for (o, u), weights in basis if shown else ():
        for action in range(len(product.pomdp.actions)):
            for o2, after in steps.next_filters(weights, action, shown).items():
                site = (o2, product.step(u, o, action, o2).state)
                inside = site not in wanting or not spans[site].rest(after)
                demand(inside, "a successor lies outside of the basis")
    return basis


def _one_more(
    product: PomdpRM,
    history: tuple[int, ...],
    steps: WholeSteps,
    known: Mapping[tuple[int, ...], tuple[dict[int, int], int]],
) -> tuple[dict[int, int], int]:
    """The filter and the machine state after a history: one step, if all before it are known."""
    if history[:-2] not in known:
        weights, u = along(product, history)
        return shortest(weights), u
    (weights, u), (o, action, o2) = known[history[:-2]], history[-3:]
    filters = steps.next_filters(weights, action, (o2,))
    demand(o2 in filters, "a history has probability zero")
    return shortest(filters[o2]), product.step(u, o, action, o2).state


def _room(product: PomdpRM) -> dict[tuple[int, int], int]:
    """How many states are possible at each site."""
    found = {(b.state, b.observation, product.machine.initial) for b in product.pomdp.start}
    frontier = list(found)
    while frontier:
        s, o, u = frontier.pop()
        for action, row in enumerate(product.pomdp.steps[s]):
            for b in row:
                if ended(product.pomdp, b.state):
                    continue
                u2 = product.step(u, o, action, b.observation).state
                if (after := (b.state, b.observation, u2)) not in found:
                    found.add(after)
                    frontier.append(after)
    return Counter((o, u) for _, o, u in found)
