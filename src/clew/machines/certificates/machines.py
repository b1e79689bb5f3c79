"""Certificates about one machine."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache

from clew.machines.certificates.claims import Differs, Encodes, Mixed, Perfect, Pooled, Refuted
from clew.machines.certificates.filters import (
    Weights,
    along,
    check_basis,
    demand,
    ended,
    first_filters,
    joint_law,
    mean_reward,
    next_filters,
    next_law,
    normalised,
)


def check_encodes(proof: Encodes) -> None:
    """Ψ vanishes at the start and balances every step of a basis."""
    product, psi = proof.product, proof.potential
    basis = check_basis(product, (vector.history for vector in proof.basis))
    u0 = product.machine.initial
    start = sum((p * psi[s, o, u0] for s, o, p in product.pomdp.start), Fraction(0))
    demand(start == 0, "the potential does not vanish at the start")

    @cache
    def rest(s: int, o: int, u: int, action: int) -> Fraction:
        """What the equation leaves over in one state."""
        left = -psi[s, o, u]
        for b in product.pomdp.steps[s][action]:
            u2, paid = product.step(u, o, action, b.observation)
            # nothing is owed once an episode is over
            owed = 0 if ended(product.pomdp, b.state) else psi[b.state, b.observation, u2]
            if owed:
                left += b.probability * product.pomdp.discount * owed
            if paid != b.reward:
                left += b.probability * (paid - b.reward)
        return left

    for (o, u), weights in basis:
        for action in range(len(product.pomdp.actions)):
            rests = ((w, rest(s, o, u, action)) for s, w in weights.items())
            total = sum((w * left for w, left in rests if left), Fraction(0))
            demand(total == 0, "the potential's equation fails on a history")


def check_differs(proof: Differs) -> None:
    """The returns are as stated, and some policy's differ."""
    product = proof.product
    along(product, proof.history)
    _check_tail(proof)
    wrong = 0
    for action, claimed in (
        (proof.action, proof.with_action),
        (proof.default, proof.with_default),
    ):
        returns = (
            _follow(proof, proof.history, action, False),
            _follow(proof, proof.history, action, True),
        )
        demand(returns == tuple(claimed), "a policy's returns are not as stated")
        wrong += returns[0] != returns[1]
    demand(wrong > 0, "both policies have the same returns in both")


def _check_tail(proof: Differs) -> None:
    """The values of repeating an action satisfy their equation, which has one solution."""
    product, gamma, a = proof.product, proof.product.pomdp.discount, proof.default
    for (s, o, u), value in proof.tail.pomdp.items():
        mine, theirs = Fraction(0), Fraction(0)
        for b in product.pomdp.steps[s][a]:
            u2, paid = product.step(u, o, a, b.observation)
            mine += b.probability * b.reward
            theirs += b.probability * paid
            if ended(product.pomdp, b.state):
                continue
            after = (b.state, b.observation, u2)
            demand(after in proof.tail.pomdp, "the values of repeating an action are not closed")
            mine += b.probability * gamma * proof.tail.pomdp[after]
            theirs += b.probability * gamma * proof.tail.machine[after]
        demand(value == mine, "a value of repeating an action is wrong")
        demand(proof.tail.machine[s, o, u] == theirs, "a value of the machine is wrong")


def _follow(proof: Differs, history: tuple[int, ...], last: int, machine: bool) -> Fraction:
    """The return of following a history, then `last`, else repeating the default action."""
    product, pomdp = proof.product, proof.product.pomdp
    tail = proof.tail.machine if machine else proof.tail.pomdp

    def onwards(weights: Weights, o: int, u: int, depth: int) -> Fraction:
        if depth < 0:
            return sum((w * tail[s, o, u] for s, w in weights.items()), Fraction(0))
        place = 2 * depth + 1
        action = history[place] if place < len(history) else last
        total = Fraction(0) if machine else mean_reward(pomdp, weights, action)
        if machine:
            for (o2, _), chance in next_law(pomdp, weights, action).items():
                total += chance * product.step(u, o, action, o2).reward
        for o2, after in next_filters(pomdp, weights, action).items():
            u2 = product.step(u, o, action, o2).state
            on_road = place + 1 < len(history) and history[place + 1] == o2
            total += pomdp.discount * onwards(after, o2, u2, depth + 1 if on_road else -1)
        return total

    return sum(
        (
            onwards(weights, o, product.machine.initial, 0 if o == history[0] else -1)
            for o, weights in first_filters(pomdp).items()
        ),
        Fraction(0),
    )


def check_refuted(proof: Refuted) -> None:
    """The multiples of the equations read 0 = 1."""
    product, pomdp = proof.product, proof.product.pomdp
    left: dict[object, Fraction] = defaultdict(Fraction)
    right = Fraction(0)
    for history, action, y in proof.multiples:
        if history is None:
            for s, o, p in pomdp.start:
                left["psi", s, o, product.machine.initial] += y * p
            continue
        weights, u = along(product, history)
        o = history[-1]
        for s, w in weights.items():
            left["psi", s, o, u] -= y * w
        for (o2, _), chance in next_law(pomdp, weights, action).items():
            left["pay", u, product.labelling(o, action, o2)] += y * chance
        for o2, after in next_filters(pomdp, weights, action).items():
            u2 = product.step(u, o, action, o2).state
            for s, w in after.items():
                left["psi", s, o2, u2] += y * w * pomdp.discount
        right += y * mean_reward(pomdp, weights, action)
    demand(not any(left.values()), "the combination does not cancel")
    demand(right == 1, "the combination does not contradict itself")


def check_perfect(proof: Perfect) -> None:
    """All histories of a basis that end at one site have the same next step."""
    law: dict[object, object] = {}
    for site, weights in check_basis(proof.product, (v.history for v in proof.basis)):
        for action in range(len(proof.product.pomdp.actions)):
            here = joint_law(proof.product.pomdp, normalised(weights), action)
            same = law.setdefault((site, action), here) == here
            demand(same, "two histories at one site have different next steps")


def check_mixed(proof: Mixed) -> None:
    """Two possible histories end at one site and have different next steps."""
    (one, u), (two, v) = (along(proof.product, h) for h in (proof.first, proof.second))
    demand(u == v and proof.first[-1] == proof.second[-1], "the histories are not at one site")
    laws = [joint_law(proof.product.pomdp, weights, proof.action) for weights in (one, two)]
    demand(laws[0] != laws[1], "the histories have the same next step")


def check_pooled(proof: Pooled) -> None:
    """Two histories that say different things, alike to a machine that encodes."""
    check_encodes(proof.encodes)
    demand(proof.first[-1] == proof.second[-1], "the histories end in different observations")
    one, two = (along(proof.encodes.product, history) for history in (proof.first, proof.second))
    demand(one[1] == two[1], "the histories end in different machine states")
    demand(one[0] != two[0], "the histories say the same")
