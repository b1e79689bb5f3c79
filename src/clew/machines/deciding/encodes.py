"""Does a machine encode a POMDP's reward: equal expected returns under every history policy?

It does iff there is a potential Ψ over histories, zero on average at the start, with

    E[r̃ + γ Ψ(h a o') | h, a] − Ψ(h) = E[r | h, a]      for every history h and action a,

where histories are those with which the episode goes on, and Ψ is zero where it is over.

(⇐ telescopes; ⇒ two policies that differ only after h leave the same expected difference, Ψ(h).)
Ψ(h) is then the machine's value minus the POMDP's under any one continuation, for instance that
of repeating one action, which is linear in the filter α(h). So the equation has to be
checked on a basis of histories only (`spaces`), posteriors finite or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from clew.machines.certificates.claims import Differs, Encodes, History, Returns, Tails, Triple
from clew.machines.deciding.spaces import Spaces, reachable, spaces
from clew.machines.exact.linear import fixed_point
from clew.machines.exact.numbers import summed
from clew.machines.model.reward_machine import PomdpRM

Play = Callable[[int, int], Mapping[int, Fraction]]
"""A policy of a machine: (observation, machine state) → action → probability."""


class RewardMismatch(NamedTuple):
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
            left = ((w, row.get((s, o, u))) for s, w in vector.weights.items() if row)
            if sum(w * value for w, value in left if value):
                return _differs(product, tail, vector.history, action, default)
    return Encodes(product, potential, known.basis)


def imbalances(
    product: PomdpRM, potential: Mapping[Triple, Fraction]
) -> list[dict[Triple, Fraction]]:
    """Left minus right side of the equation, by action, for every triple alone, if not zero."""
    gamma, over = product.pomdp.discount, product.pomdp.over
    found: list[dict[Triple, Fraction]] = [{} for _ in product.pomdp.actions]
    for (s, o, u), value in potential.items():
        for action, row in enumerate(product.pomdp.steps[s]):
            here = -value
            for b in row:
                u2, paid = product.step(u, o, action, b.observation)
                if paid != b.reward:
                    here += b.probability * (paid - b.reward)
                owed = b.state not in over and potential[b.state, b.observation, u2]
                if owed:
                    here += b.probability * gamma * owed
            if here:
                found[action][s, o, u] = here
    return found


def reward_mismatches(product: PomdpRM) -> Iterator[RewardMismatch]:
    """The steps on which machine and POMDP pay differently; none if it reproduces the reward."""
    for s, o, u in reachable(product):
        for a, row in enumerate(product.pomdp.steps[s]):
            for b in row:
                paid = product.step(u, o, a, b.observation).reward
                if paid != b.reward:
                    yield RewardMismatch(s, o, u, a, b.state, b.observation, b.reward, paid)


def _differs(product: PomdpRM, tail: Tails, history: History, action: int, default: int) -> Differs:
    return Differs(
        product,
        history,
        action,
        default,
        tail,
        deviation_returns(product, tail, history, action),
        deviation_returns(product, tail, history, default),
    )


def tails(product: PomdpRM, triples: Sequence[Triple], play: Play) -> Tails:
    """What a policy of the machine's state earns, from everywhere."""
    place = {triple: number for number, triple in enumerate(triples)}
    steps = [_step(product, triple, play(*triple[1:]), place) for triple in triples]
    sides = ([step.pomdp for step in steps], [step.machine for step in steps])
    ways = [step.after for step in steps]
    values = (_values(side, ways, product.pomdp.discount) for side in sides)
    return Tails(*(dict(zip(triples, side, strict=True)) for side in values))


def start_returns(product: PomdpRM, tail: Tails) -> Returns:
    """What it earns from the start."""
    begins = [
        (b.probability, (b.state, b.observation, product.machine.initial))
        for b in product.pomdp.start
    ]
    return Returns(*(sum((p * side[t] for p, t in begins), Fraction(0)) for side in tail))


def always(action: int) -> Play:
    """Repeat one action."""
    certain = {action: Fraction(1)}
    return lambda o, u: certain


def uniform(actions: Iterable[int]) -> Mapping[int, Fraction]:
    """Any of some actions, each as likely."""
    some = list(actions)
    return {action: Fraction(1, len(some)) for action in some}


def deviation_returns(product: PomdpRM, tail: Tails, history: History, last: int) -> Returns:
    """The returns of a policy that follows one history and then takes `last`.

    As soon as another observation comes, and in the end, it falls back to repeating one action,
    which earns `tail`.
    """
    pomdp, gamma = product.pomdp, product.pomdp.discount
    total = [Fraction(0), Fraction(0)]
    u = product.machine.initial
    here: dict[int, Fraction] = defaultdict(Fraction)
    for b in pomdp.start:
        if b.observation == history[0]:
            here[b.state] += b.probability
        else:
            for side in (0, 1):
                total[side] += b.probability * tail[side][b.state, b.observation, u]
    plan = [*zip(history[1::2], history[2::2], strict=True), (last, None)]
    factor, o = Fraction(1), history[0]
    for action, expected in plan:
        after: dict[int, Fraction] = defaultdict(Fraction)
        for s, weight in here.items():
            for b in pomdp.steps[s][action]:
                u2, paid = product.step(u, o, action, b.observation)
                chance = weight * b.probability
                total[0] += factor * chance * b.reward
                total[1] += factor * chance * paid
                if b.state in pomdp.over:
                    continue
                if b.observation == expected:
                    after[b.state] += chance
                else:
                    for side in (0, 1):
                        rest = tail[side][b.state, b.observation, u2]
                        total[side] += factor * gamma * chance * rest
        if expected is not None:
            u, o = product.step(u, o, action, expected).state, expected
        here, factor = after, factor * gamma
    return Returns(*total)


class _Step(NamedTuple):
    """What is paid in a step from one triple, and the places of the triples that it leads to."""

    pomdp: Fraction
    machine: Fraction
    after: dict[int, Fraction]


def _step(
    product: PomdpRM, triple: Triple, actions: Mapping[int, Fraction], place: Mapping[Triple, int]
) -> _Step:
    s, o, u = triple
    pomdp, machine, after = Fraction(0), Fraction(0), dict[int, Fraction]()
    for action, share in actions.items():
        for b in product.pomdp.steps[s][action]:
            u2, paid = product.step(u, o, action, b.observation)
            chance = b.probability if share == 1 else share * b.probability
            pomdp = pomdp + chance * b.reward if b.reward else pomdp
            machine = machine + chance * paid if paid else machine
            if b.state not in product.pomdp.over:
                there = place[b.state, b.observation, u2]
                after[there] = after[there] + chance if there in after else chance
    return _Step(pomdp, machine, after)


def _values(
    paid: Sequence[Fraction], ways: Sequence[Mapping[int, Fraction]], discount: Fraction
) -> list[Fraction]:
    """x = paid + discount · ways · x, where unknowns with the same equation are one.

    Most machines do not look at everything. Chances are whole numbers while equations are compared.
    """
    scale = lcm(*{p.denominator for way in ways for p in way.values()})
    whole = [[(j, p.numerator * (scale // p.denominator)) for j, p in way.items()] for way in ways]
    numbers: dict[Fraction, int] = {}
    constant = [numbers.setdefault(value, len(numbers)) for value in paid]
    group, count = [0] * len(paid), 1
    while True:
        equations = (
            (first, *sorted(summed((group[j], p) for j, p in way).items()))
            for first, way in zip(constant, whole, strict=True)
        )
        number: dict[tuple, int] = {}
        group = [number.setdefault(equation, len(number)) for equation in equations]
        if len(number) == count:
            break
        count = len(number)
    # the partition is stable, and old and new numbers are the same: both are in order of appearance
    amounts = list(numbers)
    terms = [{j: discount * Fraction(p, scale) for j, p in after} for _, *after in number]
    solution = fixed_point([amounts[first] for first, *_ in number], terms)
    return [solution[place] for place in group]
