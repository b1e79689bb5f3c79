"""Certificates about the optimum."""

from __future__ import annotations

from fractions import Fraction

from clew.machines.certificates.claims import Optimal
from clew.machines.certificates.filters import (
    WholeSteps,
    demand,
    first_filters,
    key_of,
    mean_reward,
)


def check_optimal(proof: Optimal) -> None:
    """The values solve Bellman's equation, which has one solution."""
    pomdp, gamma = proof.beliefs.pomdp, proof.beliefs.pomdp.discount
    steps = WholeSteps(pomdp)
    place = {key_of(o, dict(b)): i for i, (o, b) in enumerate(proof.beliefs.cells)}
    for i, (_, posterior) in enumerate(proof.beliefs.cells):
        weights, mass = dict(posterior), sum(weight for _, weight in posterior)
        worth = []
        for a in range(len(pomdp.actions)):
            total = mean_reward(pomdp, weights, a) / mass
            for o2, after in steps.next_filters(weights, a).items():
                if value := proof.values[place[key_of(o2, after)]]:
                    total += gamma * Fraction(sum(after.values()), steps.scale * mass) * value
            worth.append(total)
        demand(max(worth) == proof.values[i], "a value is not the best one-step value")
        best = tuple(a for a, q in enumerate(worth) if q == proof.values[i])
        demand(best == proof.actions[i], "the optimal actions are not as stated")
    total = sum(
        sum(w.values()) * proof.values[place[key_of(o, w)]] for o, w in first_filters(pomdp).items()
    )
    demand(total == proof.value, "the optimal return is not as stated")
