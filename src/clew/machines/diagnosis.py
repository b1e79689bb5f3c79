"""The ordered diagnosis: what an exploration bonus is expected to do to memories on this task.

The gates are read in order, as the paper reads them:

1. bonuses are redundant → **null**: they cannot reorder policies;
2. all memory that good play requires is supervised, and one-step rewards misrank actions →
   **equalise**: the bonus supplies what is missing, and retention is trained by the reward;
3. good play requires memory that the reward does not supervise → **amplify**: the bonus multiplies
   what an architecture retains by itself;
4. supervised and well ranked → **null**: there is no exploratory deficit to correct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.machines.policy import Ranking
from clew.machines.profile import Profile, Tally
from clew.machines.redundancy import ARRIVAL, Redundancy

Outcome = Literal["null", "equalise", "amplify", "undecided"]
LIMITS = (
    "a statement about the objective and its optimal policies, not about how fast they are learned",
    "amplify and equalise rest on the study's experiments; only the null outcomes are theorems",
    "how much has to be retained, and how well an architecture can, is not looked at",
)


@dataclass(frozen=True)
class Diagnosis:
    """The expected effect of a bonus, why, and what the statement does not cover."""

    outcome: Outcome
    reasons: tuple[str, ...]
    limits: tuple[str, ...] = LIMITS


def diagnose(profile: Profile, ranking: Ranking, redundancy: Redundancy) -> Diagnosis:
    """Read the gates in order."""
    if redundancy.holds:
        return Diagnosis("null", (redundancy.reason,), (*LIMITS, ARRIVAL))
    memory, what = _memory(profile)
    kept, needed = memory.required_unpoolable, memory.required
    ranked = (
        "one-step rewards misrank actions, even with perfect memory"
        if ranking.misranked
        else "one-step rewards rank an optimal action first, given perfect memory"
    )
    if needed > kept:
        reason = (
            f"of the {needed:,} pairs of situations that look the same and that good play tells "
            f"apart by {what}, the reward forces an encoder to tell {kept:,} apart"
        )
        return Diagnosis("amplify", (reason, ranked))
    supervised = (
        f"whatever good play tells apart by {what} (pairs that look the same: {needed:,}) is "
        "supervised: every machine that encodes the reward keeps it apart"
        if needed
        else f"good play tells no situations that look the same apart by {what}"
    )
    return Diagnosis("equalise" if ranking.misranked else "null", (supervised, ranked))


def _memory(profile: Profile) -> tuple[Tally, str]:
    """What has to be remembered: the variables that an episode is made of, or else everything.

    Where the agent is changes all the time, and is for the most part seen again; what is fixed
    for the episode, and hidden, is what memory is for. Each variable is judged by the pairs that
    differ in it alone: two that differ in another as well may be told apart by that one later.
    """
    total = Tally()
    for name in profile.fixed:
        total += profile.variables[name]
    names = " or ".join(sorted(profile.fixed))
    if total.required:
        return total, names
    if profile.level.pairs:
        return profile.level, names
    return profile.total, "memory"
