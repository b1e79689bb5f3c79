"""The certificate that no finite machine encodes a reward."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from clew.machines.unencodable import Unencodable
from clew.machines.verify.filters import (
    Weights,
    demand,
    first_filters,
    mean_reward,
    next_filters,
)

ONE = Fraction(1)


def check_unencodable(proof: Unencodable) -> None:
    """One action leaves each state alone, two are forgetful, and what these two pay parts."""
    pomdp, here, last = proof.pomdp, _after(proof), proof.history[-1]
    first, second = proof.actions
    for action in (first, second):
        futures = [_plain(next_filters(pomdp, {s: ONE}, action)) for s in here]
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
