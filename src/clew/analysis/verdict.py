"""The answer in words: what a bonus does to the differences between memories on a task."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from clew.analysis import words
from clew.analysis.names import bonus_label
from clew.analysis.stats.cautions import Caution, cautions
from clew.analysis.stats.families import holm
from clew.analysis.stats.gains import Gain, average_gain, gains
from clew.analysis.stats.interaction import Interaction, two_way
from clew.analysis.stats.intervals import Interval
from clew.analysis.stats.resample import PERMUTATIONS, RESAMPLES
from clew.analysis.stats.spread import Spread, spread
from clew.analysis.stats.task import Task, tasks
from clew.analysis.table import Results

ALPHA = 0.05
MARGIN = 0.1
"""An effect inside ±this is called none. (The study's null has no gain beyond ±0.08.)"""
SEEDS = 3
"""With fewer seeds in an arm nothing is concluded."""

RULES = {
    "amplify": "ΔSEP > 0 and the gains depend on the architecture, both after Holm",
    "equalise": "ΔSEP < 0 and the gains depend on the architecture, both after Holm",
    "shift": "neither of these, but the average gain's interval excludes 0",
    "reorder": "the gains depend on the architecture after Holm, but neither the spread nor the "
    "average changes",
    "null": f"none of these, and the intervals of ΔSEP and the average gain lie inside ±{MARGIN}",
    "inconclusive": "none of these: the seeds cannot tell an effect from none",
}
"""Tried in this order; the first that holds is the pattern."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """On one task and bonus."""

    task: Task
    bonus: str
    pattern: str
    """A key of `RULES`."""
    sentence: str
    spread: Spread
    average: Interval
    interaction: Interaction | None
    p_spread: float
    """Of ΔSEP, Holm-corrected over all verdicts given together."""
    p_interaction: float
    """Of the permutation test on F, corrected alike."""
    gains: tuple[Gain, ...]
    cautions: tuple[Caution, ...]


def verdicts(
    results: Results, resamples: int = RESAMPLES, permutations: int = PERMUTATIONS
) -> list[Verdict]:
    """One for every task and bonus; the family that is corrected for is all of them."""
    asked = [(t, b) for t in tasks(results) for b in t.bonuses]
    spreads = [spread(t, b, resamples=resamples) for t, b in asked]
    interactions = [two_way(t, b, permutations) if len(t.both(b)) > 1 else None for t, b in asked]
    of_spread = holm([s.p for s in spreads])
    of_interaction = holm([i.p_permutation if i else math.nan for i in interactions])
    every_gain = {t.label: gains(t, resamples) for t in dict.fromkeys(t for t, _ in asked)}
    return [
        _verdict(t, b, s, i, ps, every_gain[t.label], cautions(t, b, results, resamples))
        for (t, b), s, i, *ps in zip(
            asked, spreads, interactions, of_spread, of_interaction, strict=True
        )
    ]


def _verdict(
    task: Task,
    bonus: str,
    found: Spread,
    interaction: Interaction | None,
    ps: Sequence[float],
    every_gain: Sequence[Gain],
    warnings: list[Caution],
) -> Verdict:
    average = average_gain(task, bonus)
    mine = tuple(g for g in every_gain if g.bonus == bonus and g.architecture in task.memories)
    pattern = judge(found.delta, average, ps[0], ps[1])
    verdict = Verdict(
        task, bonus, pattern, "", found, average, interaction, ps[0], ps[1], mine, tuple(warnings)
    )
    return dataclasses.replace(verdict, sentence=_sentence(verdict))


def judge(delta: Interval, average: Interval, p_spread: float, p_interaction: float) -> str:
    """The first of `RULES` that holds."""
    if not delta.known or min(delta.n) < SEEDS:
        return "inconclusive"
    depends = p_interaction < ALPHA
    if depends and p_spread < ALPHA:
        return "amplify" if delta.estimate > 0 else "equalise"
    if average.excludes(0):
        return "shift"
    if depends:
        return "reorder"
    # an average without any spread is exact
    flat = average.within(MARGIN) or (not average.known and abs(average.estimate) < MARGIN)
    return "null" if flat and delta.within(MARGIN) else "inconclusive"


def _sentence(verdict: Verdict) -> str:
    found, fewest = verdict.spread, min(verdict.spread.delta.n, default=0)
    opening = (
        f"On {verdict.task.environment} / {verdict.task.reward}, {bonus_label(verdict.bonus)} "
    )
    if not found.delta.known:
        return opening + f"cannot be judged: {found.delta.why_not}."
    if fewest < SEEDS:
        return opening + f"cannot be judged: an arm has {fewest} seeds, and {SEEDS} are the least."
    who = f"{words.seeds(found.delta.n)} × {len(found.architectures)} architectures"
    delta = f"ΔSEP {words.estimate(found.delta, plus=True)}, {who}"
    delta += f", Holm p {words.p_value(verdict.p_spread)}"
    mean = f"average gain {words.estimate(verdict.average, plus=True)}"
    gains = _range(verdict.gains)
    said = {
        "amplify": f"amplifies the differences between memories: {delta}; {gains}.",
        "equalise": f"equalises the memories: {delta}; {gains}.",
        "shift": f"{_shift(verdict)}: {mean}; {delta}; {gains}.",
        "reorder": f"helps some memories and hurts others: {gains}; {delta}.",
        "null": f"does nothing that matters: {mean}; {delta}; a true gain of "
        f"{_detectable(verdict.gains)} in any one architecture would have shown with 80% "
        "probability.",
        "inconclusive": f"is not settled by these seeds: {mean}; {delta}; in single architectures "
        f"a true gain below {_detectable(verdict.gains)} could have gone unseen.",
    }
    return opening + said[verdict.pattern]


def _shift(verdict: Verdict) -> str:
    helps = "helps on average" if verdict.average.estimate > 0 else "hurts on average"
    delta = verdict.spread.delta
    if not delta.excludes(0):
        return f"{helps}, and does not change the spread of memories measurably"
    way = "widens" if delta.estimate > 0 else "narrows"
    lacking = "its own p" if not verdict.p_spread < ALPHA else "the test that gains differ"
    return f"{helps}; that it {way} the spread is not settled ({lacking} fails after Holm)"


def _range(mine: Sequence[Gain]) -> str:
    least, most = (f(mine, key=lambda g: g.interval.estimate) for f in (min, max))
    return (
        f"gains from {words.signed(least.interval.estimate, 2)} ({least.architecture}) "
        f"to {words.signed(most.interval.estimate, 2)} ({most.architecture})"
    )


def _detectable(mine: Sequence[Gain]) -> str:
    return words.number(max(g.detectable for g in mine), 2)
