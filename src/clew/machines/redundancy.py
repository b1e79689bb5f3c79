"""Bonus redundancy: when no bonus on what is seen can change what is optimal.

Let b_t = g_t(o₀, …, o_t) ≥ 0 be any bonus on the observations so far, paid until the episode ends.
If (1) actions decide only whether the episode goes on, and, given that it does, have no influence
on what comes next; and (2) every action that is optimal for the reward keeps the episode going as
surely as any action can, in every state that is possible; then an optimal policy also collects
the most bonus that any policy can, on every stream. So for every λ ≥ 0 the optimal policies of
r + λb are those of r. This covers the paper's scheduled stream and proves it case by case.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from clew.machines.policy import Optimal
from clew.machines.pomdp import Pomdp

ARRIVAL = (
    "a bonus on the arrival observation, as NovelD's, adds one boundary term: the statement then "
    "holds up to λ times one first-visit bonus"
)


@dataclass(frozen=True)
class Redundancy:
    """Whether bonuses are redundant, and why (not)."""

    holds: bool
    reason: str


def redundancy(best: Optimal) -> Redundancy:
    """Check the two conditions; they are sufficient, not necessary."""
    pomdp = best.beliefs.pomdp
    for s in sorted(pomdp.reachable() - pomdp.terminal):
        if not _scheduled(pomdp, s):
            return Redundancy(False, f"in {pomdp.states[s]!r}, actions change what is seen next")
    for cell in _under_optimal_play(best):
        posterior = best.beliefs.cells[cell].posterior
        for action in best.actions[cell]:
            for s, _ in posterior:
                if survival(pomdp, s, action) < max(
                    survival(pomdp, s, a) for a in range(len(pomdp.actions))
                ):
                    return Redundancy(
                        False,
                        f"in {pomdp.states[s]!r}, {pomdp.actions[action]!r} is optimal but ends "
                        "the episode where another action would not",
                    )
    return Redundancy(
        True,
        "what is seen comes on a schedule that actions can only cut short, and optimal play never "
        "cuts it short: a bonus on observations ranks policies as the reward does",
    )


def survival(pomdp: Pomdp, state: int, action: int) -> Fraction:
    """The probability that the episode goes on."""
    return sum(
        (b.probability for b in pomdp.steps[state][action] if b.state not in pomdp.terminal),
        Fraction(0),
    )


def _scheduled(pomdp: Pomdp, state: int) -> bool:
    """Whether the law of what comes next, if anything does, is the same under all actions."""
    laws = set()
    for action, row in enumerate(pomdp.steps[state]):
        alive = survival(pomdp, state, action)
        if alive:
            law: dict[tuple[int, int], Fraction] = {}
            for b in row:
                if b.state not in pomdp.terminal:
                    key = (b.state, b.observation)
                    law[key] = law.get(key, Fraction(0)) + b.probability / alive
            laws.add(frozenset(law.items()))
    return len(laws) <= 1


def _under_optimal_play(best: Optimal) -> set[int]:
    found = {cell for cell, _ in best.beliefs.start}
    frontier = list(found)
    while frontier:
        cell = frontier.pop()
        for action in best.actions[cell]:
            for after in best.beliefs.rows[cell][action].after:
                if after not in found:
                    found.add(after)
                    frontier.append(after)
    return found
