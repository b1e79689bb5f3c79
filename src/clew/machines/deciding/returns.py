"""Exact expected returns of a POMDP and of a machine on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from clew.machines.certificates.claims import History, Returns, Tails, Triple
from clew.machines.exact.linear import fixed_point
from clew.machines.model.reward_machine import PomdpRM

Play = Callable[[int, int], Mapping[int, Fraction]]
"""A policy of a machine: (observation, machine state) → action → probability."""


def tails(product: PomdpRM, triples: Sequence[Triple], play: Play) -> Tails:
    """What a policy of the machine's state earns, from everywhere."""
    return Tails(
        _values(product, triples, play, machine=False),
        _values(product, triples, play, machine=True),
    )


def start_returns(product: PomdpRM, tail: Tails) -> Returns:
    """What it earns from the start."""
    begins = [
        (b.probability, (b.state, b.observation, product.machine.initial))
        for b in product.pomdp.start
    ]
    return Returns(*(sum((p * side[t] for p, t in begins), Fraction(0)) for side in tail))


def always(action: int) -> Play:
    """Repeat one action for ever."""
    certain = {action: Fraction(1)}
    return lambda o, u: certain


def uniform(actions: Iterable[int]) -> Mapping[int, Fraction]:
    """Any of some actions, each as likely."""
    some = list(actions)
    return {action: Fraction(1, len(some)) for action in some}


def deviation_returns(
    product: PomdpRM, tail: Tails, history: History, last: int, default: int
) -> Returns:
    """The returns of a policy that follows one history, takes `last`, and else repeats `default`.

    `tail` holds what repeating `default` earns. An action is taken because of the history that
    came true so far: as soon as another observation comes, the policy falls back to `default`.
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


def _values(
    product: PomdpRM, triples: Sequence[Triple], play: Play, *, machine: bool
) -> dict[Triple, Fraction]:
    """Triples with the same equation share an unknown: most machines do not look at everything."""
    group = dict.fromkeys(triples, 0)
    classes = 1
    while True:
        equation = {t: _equation(product, t, play(t[1], t[2]), group, machine) for t in triples}
        number = {e: i for i, e in enumerate(dict.fromkeys(equation.values()))}
        finer = {t: number[equation[t]] for t in triples}
        if len(number) == classes:
            break
        group, classes = finer, len(number)
    # the partition is stable, so that old and new numbers name the same groups
    renamed = {group[t]: finer[t] for t in triples}
    solution = fixed_point(
        [constant for constant, _ in number],
        [{renamed[g]: k for g, k in terms} for _, terms in number],
    )
    return {t: solution[place] for t, place in finer.items()}


def _equation(
    product: PomdpRM,
    triple: Triple,
    actions: Mapping[int, Fraction],
    group: Mapping[Triple, int],
    machine: bool,
) -> tuple[Fraction, frozenset[tuple[int, Fraction]]]:
    s, o, u = triple
    gamma = product.pomdp.discount
    constant, terms = Fraction(0), defaultdict(Fraction)
    for action, chance in actions.items():
        for b in product.pomdp.steps[s][action]:
            u2, paid = product.step(u, o, action, b.observation)
            constant += chance * b.probability * (paid if machine else b.reward)
            terms[group[b.state, b.observation, u2]] += gamma * chance * b.probability
    return constant, frozenset(terms.items())
