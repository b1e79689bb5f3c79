"""No finite machine encodes this reward: infinitely many histories must be kept apart.

An action is *forgetful* on some states if it leads from all of them to the same law of next state
and observation (all states in which the episode is over count as one). If an encoder pools two
histories over such states, every forgetful action a asks for the gap Δ = −(R_a − R'_a) (see
`pairs`: what follows is equal). So where there are two of them, it must keep histories apart that
differ in D = R_a − R_b.

Let another action leave the state alone and show the last observation again, with probability m_s
in state s. After n repetitions the posterior weighs s by α_s m_s^n, and D equals c only where
Σ_s α_s (D_s − c) m_s^n = 0. Unless each group of states with one m has the mean c, this sum of
exponentials has fewer zeros than groups. So if two groups have different means of D, each value
occurs finitely often, and D takes infinitely many values: no finite machine can keep them apart.

The paper's definition then calls the reward structurally sparse. Its noisy coin is the example.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import combinations

from clew.machines.certificates.claims import Unencodable
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import Filter
from clew.machines.model.pomdp import Pomdp

CELLS = 100
"""Posteriors that are tried as a beginning."""


def unencodable(beliefs: Filter) -> Unencodable | None:
    """Look for a certificate among the first posteriors."""
    pomdp = beliefs.pomdp
    every = range(len(pomdp.actions))
    for place, cell in enumerate(beliefs.cells[:CELLS]):
        weights = dict(cell.posterior)
        for pair in combinations([a for a in every if _forgetful(pomdp, weights, a)], 2):
            gap = {s: _mean(pomdp, s, pair[0]) - _mean(pomdp, s, pair[1]) for s in weights}
            for action in every:
                stays = _stays(pomdp, weights, action, cell.observation)
                if stays is not None and _diverges(weights, stays, gap):
                    return Unencodable(pomdp, beliefs.history(place), action, pair)
    return None


def _forgetful(pomdp: Pomdp, states: Collection[int], action: int) -> bool:
    laws = [
        summed(
            ((None if b.state in pomdp.over else b.state, b.observation), b.probability)
            for b in pomdp.steps[s][action]
        )
        for s in states
    ]
    return all(law == laws[0] for law in laws)


def _mean(pomdp: Pomdp, state: int, action: int) -> Fraction:
    return sum((b.probability * b.reward for b in pomdp.steps[state][action]), Fraction(0))


def _stays(
    pomdp: Pomdp, states: Collection[int], action: int, observation: int
) -> dict[int, Fraction] | None:
    """The probability that a state stays and shows this; None if one shows it and moves."""
    found = dict.fromkeys(states, Fraction(0))
    for s in states:
        for b in pomdp.steps[s][action]:
            if b.observation == observation and b.state not in pomdp.over:
                if b.state != s:
                    return None
                found[s] += b.probability
    return found


def _diverges(
    weights: Mapping[int, int], stays: Mapping[int, Fraction], gap: Mapping[int, Fraction]
) -> bool:
    """Whether two groups of states that the action favours differently have different mean gaps."""
    means = set()
    for share in set(stays.values()) - {Fraction(0)}:
        group = [s for s in weights if stays[s] == share]
        total = sum(weights[s] for s in group)
        means.add(sum((weights[s] * gap[s] for s in group), Fraction(0)) / total)
    return len(means) > 1
