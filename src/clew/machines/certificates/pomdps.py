"""Certificates about the optimum."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from clew.machines.certificates.claims import Optimal, Unencodable
from clew.machines.certificates.filters import (
    Weights,
    demand,
    first_filters,
    key_of,
    mean_reward,
    next_filters,
    next_law,
    normalised,
)


def check_optimal(proof: Optimal) -> None:
    """The values solve Bellman's equation, which has one solution."""
    pomdp, gamma = proof.beliefs.pomdp, proof.beliefs.pomdp.discount
    place = {key_of(o, normalised(dict(b))): i for i, (o, b) in enumerate(proof.beliefs.cells)}
    for i, (_, posterior) in enumerate(proof.beliefs.cells):
        weights = normalised(dict(posterior))
        worth = []
        for a in range(len(pomdp.actions)):
            total = mean_reward(pomdp, weights, a)
            for o2, after in next_filters(pomdp, weights, a).items():
                j = place[key_of(o2, normalised(after))]
                total += gamma * sum(after.values()) * proof.values[j]
            worth.append(total)
        demand(max(worth) == proof.values[i], "a value is not the best one-step value")
        best = tuple(a for a, q in enumerate(worth) if q == proof.values[i])
        demand(best == proof.actions[i], "the optimal actions are not as stated")
    total = sum(
        sum(w.values()) * proof.values[place[key_of(o, normalised(w))]]
        for o, w in first_filters(pomdp).items()
    )
    demand(total == proof.value, "the optimal return is not as stated")


ONE = Fraction(1)


def check_unencodable(proof: Unencodable) -> None:
    """One action keeps the state, two are forgetful, and repetition changes their mean gap."""
    pomdp, here, last = proof.pomdp, _after(proof), proof.history[-1]
    first, second = proof.actions
    for action in (first, second):
        futures = [
            (_plain(next_filters(pomdp, {s: ONE}, action)), next_law(pomdp, {s: ONE}, action))
            for s in here
        ]
        demand(all(each == futures[0] for each in futures), "an action is not forgetful")
    weight: dict[Fraction, Fraction] = defaultdict(Fraction)
    parted: dict[Fraction, Fraction] = defaultdict(Fraction)
    for s, w in here.items():
        at = next_filters(pomdp, {s: ONE}, proof.repeated, {last}).get(last, {})
        demand(set(at) <= {s}, "the repeated action moves a state")
        share = at.get(s, Fraction(0))
        gap = mean_reward(pomdp, {s: ONE}, first) - mean_reward(pomdp, {s: ONE}, second)
        weight[share] += w
        parted[share] += w * gap
    means = {parted[share] / weight[share] for share in weight if share}
    demand(len(means) > 1, "repeating changes nothing that the two actions are paid for")


def _after(proof: Unencodable) -> Weights:
    """The filter of the history; rejects an impossible one."""
    first, *rest = proof.history
    here = dict(first_filters(proof.pomdp).get(first, {}))
    for action, observation in zip(rest[::2], rest[1::2], strict=True):
        here = dict(next_filters(proof.pomdp, here, action, {observation}).get(observation, {}))
    here = {s: w for s, w in here.items() if w}
    demand(bool(here), "the history cannot happen")
    return here


def _plain(filters: dict[int, Weights]) -> dict[int, dict[int, Fraction]]:
    return {o: {s: w for s, w in some.items() if w} for o, some in filters.items()}
