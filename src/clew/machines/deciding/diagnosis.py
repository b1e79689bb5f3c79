"""The ordered diagnosis: what an exploration bonus is expected to do to memories on this task.

The gates are read in order, as the paper reads them:

1. bonuses are redundant → **null**: they cannot reorder policies;
2. every variable that good play has to remember is supervised, and one-step rewards misrank
   actions → **equalise**: the bonus supplies what is missing, the reward trains retention;
3. good play has to remember a variable that the reward does not supervise at all → **amplify**: the
   bonus multiplies what an architecture retains by itself;
4. supervised and well ranked → **null**: there is no exploratory deficit to correct.

Only the first is a theorem, and only it says what to do; the others say what to try. (A reward may
be dense and well ranked, and a bonus still harmful: let staying pay 1 and leaving, which pays
nothing, show something new each time.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from clew.machines.certificates.claims import Optimal
from clew.machines.deciding.optimal import Ranking, played
from clew.machines.deciding.profile import Profile, Tally
from clew.machines.exact.numbers import summed
from clew.machines.model.pomdp import Pomdp

Outcome = Literal["null", "equalise", "amplify", "undecided"]
LIMITS = (
    "a statement about the objective and its optimal policies, not about how fast they are learned",
    "only null by redundancy is a theorem; null for a supervised and well-ranked reward, amplify "
    "and equalise rest on the study's experiments",
    "how much has to be retained, and how well an architecture can, is not looked at",
)
PARTLY = (
    "some pairs that good play tells apart may be pooled, for instance where one more look would "
    "tell them apart before any reward depends on it; memory counts as supervised all the same"
)


@dataclass(frozen=True)
class Diagnosis:
    """What to do, the expected effect of a bonus, why, and what the statement does not cover."""

    outcome: Outcome
    todo: str
    """A few words."""
    expected: str
    """Of a bonus, in a sentence."""
    reasons: tuple[str, ...]
    limits: tuple[str, ...] = LIMITS
    certainty: str = "an expectation, not a theorem"
    """How sure that is."""

    @property
    def advice(self) -> str:
        """What to do and what to expect, in one sentence."""
        return f"{self.todo}: {self.expected}"


def diagnose(profile: Profile, ranking: Ranking, redundancy: Redundancy) -> Diagnosis:
    """Read the gates in order."""
    if redundancy.holds:
        reasons, limits = (redundancy.reason,), (*LIMITS, ARRIVAL)
        return Diagnosis("null", *REDUNDANT, reasons, limits, certainty="a theorem")
    memory = required_memory(profile)
    ranked = (
        "one-step rewards misrank actions, even with perfect memory"
        if ranking.misranked
        else "one-step rewards rank an optimal action first, given perfect memory"
    )
    reasons = [
        f"good play tells situations apart by {what} although they look the same; of "
        f"{_pairs(tally.required)}, the reward forces every encoder to keep "
        f"{tally.required_unpoolable:,} apart"
        for what, tally in memory.items()
    ] or ["good play tells no situations apart that look the same: no memory is required"]
    unsupervised = any(not tally.required_unpoolable for tally in memory.values())
    partly = any(tally.required_unpoolable < tally.required for tally in memory.values())
    limits = LIMITS if unsupervised or not partly else (*LIMITS, PARTLY)
    outcome: Outcome = "equalise" if ranking.misranked else "null"
    outcome = "amplify" if unsupervised else outcome
    found = Diagnosis(outcome, *_advice(outcome, memory), (*reasons, ranked), limits)
    # that one-step rewards misrank actions holds almost wherever reward comes late
    weak = outcome == "equalise" and not memory
    return replace(found, certainty="a weak expectation, not a theorem") if weak else found


def not_computed(why: str, unsupervised: bool) -> Diagnosis:
    """Where optimal play is not known, whatever is decided of the reward."""
    expected = "it depends on what good play has to remember, which was not computed"
    if unsupervised:
        expected += "; the reward supervises no memory (a machine without any pays the same return)"
    reason = f"{why}: optimal play and its memory were not computed"
    todo = "train with and without a bonus, and compare"
    return Diagnosis("undecided", todo, expected, (reason,), certainty="")


REDUNDANT = (
    "leave the bonus out and look at the memory",
    "what is seen comes whatever one does, so that a bonus cannot change which policies are best",
)


def _advice(outcome: Outcome, memory: Mapping[str, Tally]) -> tuple[str, str]:
    """What to do, and what to expect of a bonus."""
    if outcome == "amplify":
        missing = [_of(name) for name, tally in memory.items() if not tally.required_unpoolable]
        todo = "a bonus may help agents that remember well; compare memories, with and without it"
        return todo, (
            f"good play needs {' and '.join(missing)}, which the reward does not supervise (a "
            "machine can pay the same return and forget it), so that a bonus should help only "
            "those that remember anyway; only an experiment decides"
        )
    what = " and ".join(_of(name) for name in memory)
    kept = f"the reward supervises {what} (no machine that pays the same return can forget it)"
    kept = kept if memory else "no memory is required"
    if outcome == "null":
        return "a bonus is not expected to help; train without one first", (
            f"{kept}, and one-step rewards rank actions right, so that a bonus should have nothing "
            "to add and may distract"
        )
    then = (
        "so that a bonus may help whoever does not look for what it needs"
        if memory
        else "which holds almost wherever reward comes late, and says little about a bonus"
    )
    return "a bonus may help; train with and without it, and compare", (
        f"{kept}, but one-step rewards misrank actions (what pays most at once is not always "
        f"best), {then}; only an experiment decides"
    )


def _of(name: str) -> str:
    return name if name == "memory" else f"memory of the {name}"


def required_memory(profile: Profile) -> dict[str, Tally]:
    """What good play has to remember: the variables that an episode is made of, or everything.

    Where the agent is changes all the time, and is for the most part seen again; what is fixed
    for the episode, and hidden, is what memory is for. Each variable is judged by the pairs that
    differ in it alone: two that differ in another as well may be told apart by that one later.
    """
    alone = {name: profile.variables[name] for name in sorted(profile.fixed)}
    for candidates in (
        alone,
        {" or ".join(alone): profile.level},
        {"memory": profile.total} if not alone else {},
    ):
        needed = {what: tally for what, tally in candidates.items() if tally.required}
        if needed:
            return needed
    return {}


def _pairs(count: int) -> str:
    return "this 1 pair" if count == 1 else f"these {count:,} pairs"


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
    """Whether no bonus on what is seen can change what is optimal.

    Let b_t = g_t(o₀, …, o_t) ≥ 0 be any bonus on the observations so far, paid until the episode
    ends. If (1) actions decide only whether the episode goes on, and, given that it does, have no
    influence on what comes next; and (2) every action that is optimal for the reward keeps the
    episode going as surely as any action can, in every state that is possible; then an optimal
    policy also collects the most bonus that any policy can, whatever is observed. So for every
    λ ≥ 0 the optimal policies of r + λb are those of r. The conditions are sufficient, not
    necessary.
    """
    pomdp = best.beliefs.pomdp
    for s in sorted(pomdp.reachable() - pomdp.terminal):
        if not _scheduled(pomdp, s):
            return Redundancy(False, f"in {pomdp.states[s]!r}, actions change what is seen next")
    for cell in sorted(played(best.beliefs, best.actions)):
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
            on = (b for b in row if b.state not in pomdp.terminal)
            law = summed(((b.state, b.observation), b.probability / alive) for b in on)
            laws.add(frozenset(law.items()))
    return len(laws) <= 1
