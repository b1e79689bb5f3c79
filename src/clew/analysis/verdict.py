"""The answer in words: what a bonus does to the differences between memories on a task."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

from clew.analysis import formatting
from clew.analysis.cautions import Caution, cautions
from clew.analysis.names import bonus_label
from clew.analysis.statistics import Statistics, TaskStatistics
from clew.analysis.stats.effects import MARGIN as MATTERS
from clew.analysis.stats.effects import SEEDS
from clew.analysis.stats.gains import Gain
from clew.analysis.stats.intervals import Interval, holm
from clew.analysis.stats.spread import Spread
from clew.analysis.stats.task import Task

ALPHA = 0.05
MARGIN = 0.1
"""An effect inside ±this is called none. (The study's null has no gain beyond ±0.08.)"""

RULES = {
    "amplify": "ΔSEP > 0 and the gains depend on the architecture, both after Holm",
    "equalise": "ΔSEP < 0 and the gains depend on the architecture, both after Holm",
    "shift": "neither of these, but the average gain differs from 0 after Holm, and its interval "
    f"does not lie inside ±{MATTERS}",
    "reorder": "the gains depend on the architecture after Holm, but neither the spread nor the "
    "average changes",
    "null": f"none of these, and the intervals of ΔSEP and the average gain lie inside ±{MARGIN}",
    "inconclusive": "none of these: the seeds cannot tell an effect from none",
}
"""Tried in this order; the first that holds is the pattern."""
Tone = Literal["help", "harm", "mixed", "even", "open"]


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
    p_spread: float
    """Of ΔSEP, Holm-corrected over all verdicts given together."""
    p_interaction: float
    """Of the permutation test on F, corrected alike."""
    p_average: float
    """Of the average gain, corrected alike."""
    gains: tuple[Gain, ...]
    cautions: tuple[Caution, ...]

    @property
    def gaining(self) -> list[str]:
        """Memories that the bonus helps, after Holm over the task's gains."""
        return [g.architecture for g in self.gains if g.p_holm < ALPHA and g.interval.estimate > 0]

    @property
    def losing(self) -> list[str]:
        """Memories that it hurts, likewise."""
        return [g.architecture for g in self.gains if g.p_holm < ALPHA and g.interval.estimate < 0]

    @property
    def tone(self) -> Tone:
        """Whether what it does is help, harm, both, neither, or open."""
        if self.pattern in ("null", "inconclusive"):
            return "even" if self.pattern == "null" else "open"
        helps, hurts = bool(self.gaining), bool(self.losing)
        if helps == hurts:
            return "mixed" if helps else "help" if self.average.estimate > 0 else "harm"
        return "help" if helps else "harm"

    @property
    def heading(self) -> str:
        """What it does, in a few words. Harm is called harm, whatever it does to the spread."""
        if self.pattern in ("amplify", "equalise"):
            grow = self.pattern == "amplify"
            if self.tone == "harm":
                so = "differences grow" if grow else "memories are more alike"
                return f"harms {formatting.listed(self.losing) or 'some memories'}, so {so}"
            return "amplifies differences" if grow else "equalises memories"
        if self.pattern == "shift":
            moved = self.losing if self.tone == "harm" else self.gaining
            verb = "hurts" if self.average.estimate < 0 else "helps"
            return f"{verb} every memory" if len(moved) == len(self.gains) else f"{verb} on average"
        both = self.gaining and self.losing
        more = "does more for some memories than for others"
        return {
            "reorder": "helps some memories, hurts others" if both else more,
            "null": "does nothing that matters",
            "inconclusive": "is not settled",
        }[self.pattern]


def verdicts(statistics: Statistics) -> list[Verdict]:
    """One for every task and bonus; the family that is corrected for is all of them."""
    asked = [(t, b) for t in statistics.tasks for b in t.task.bonuses]
    of_spread = holm([t.spread(b).p for t, b in asked])
    interactions = [t.interactions.get(b) for t, b in asked]
    of_interaction = holm([i.p_permutation if i else math.nan for i in interactions])
    of_average = holm([t.average_gains[b].p for t, b in asked])
    corrected = zip(of_spread, of_interaction, of_average, strict=True)
    return [_verdict(t, b, *ps) for (t, b), ps in zip(asked, corrected, strict=True)]


def _verdict(
    statistics: TaskStatistics, bonus: str, p_spread: float, p_interaction: float, p_average: float
) -> Verdict:
    task, found = statistics.task, statistics.spread(bonus)
    average = statistics.average_gains[bonus].interval
    verdict = Verdict(
        task=task,
        bonus=bonus,
        pattern=judge(found.delta, average, p_spread, p_interaction, p_average),
        sentence="",
        spread=found,
        average=average,
        p_spread=p_spread,
        p_interaction=p_interaction,
        p_average=p_average,
        gains=tuple(
            g for g in statistics.gains if g.bonus == bonus and g.architecture in task.memories
        ),
        cautions=tuple(cautions(statistics, bonus)),
    )
    return dataclasses.replace(verdict, sentence=_sentence(verdict))


def judge(
    delta: Interval, average: Interval, p_spread: float, p_interaction: float, p_average: float
) -> str:
    """The first of `RULES` that holds. An average without any spread is exact."""

    def inside(margin: float) -> bool:
        return average.within(margin) or (not average.known and abs(average.estimate) < margin)

    if not delta.known or min(delta.n) < SEEDS:
        return "inconclusive"
    depends = p_interaction < ALPHA
    if depends and p_spread < ALPHA:
        return "amplify" if delta.estimate > 0 else "equalise"
    if p_average < ALPHA and not inside(MATTERS):
        return "shift"
    if depends:
        return "reorder"
    return "null" if inside(MARGIN) and delta.within(MARGIN) else "inconclusive"


def _sentence(verdict: Verdict) -> str:
    found, fewest = verdict.spread, min(verdict.spread.delta.n, default=0)
    opening = (
        f"On {verdict.task.environment} / {verdict.task.reward}, {bonus_label(verdict.bonus)} "
    )
    if not found.delta.known:
        return opening + f"cannot be judged: {found.delta.why_not}."
    if fewest < SEEDS:
        return opening + f"cannot be judged: an arm has {fewest} seeds, and {SEEDS} are the least."
    who = f"{formatting.seeds(found.delta.n)} × {len(found.architectures)} architectures"
    delta = f"ΔSEP {formatting.estimate(found.delta, plus=True)}, {who}"
    delta += f", Holm p {formatting.p_value(verdict.p_spread)}"
    mean = f"average gain {formatting.estimate(verdict.average, plus=True)}"
    gains = _range(verdict.gains)
    harm = f"{verdict.heading}; it helps none" if verdict.tone == "harm" else ""
    said = {
        "amplify": f"{harm or 'amplifies the differences between memories'}: {delta}; {gains}.",
        "equalise": f"{harm or 'equalises the memories'}: {delta}; {gains}.",
        "shift": f"{_shift(verdict)}: {mean}; {delta}; {gains}.",
        "reorder": f"{verdict.heading}: {gains}; {delta}.",
        "null": f"does nothing that matters: {mean}; {delta}; a true gain of "
        f"{_detectable(verdict.gains)} in any one architecture would have shown with 80% "
        "probability.",
        "inconclusive": f"is not settled by these seeds: {mean}; {delta}; in single architectures "
        f"a true gain below {_detectable(verdict.gains)} could have gone unseen.",
    }
    return opening + said[verdict.pattern]


def _shift(verdict: Verdict) -> str:
    helps = verdict.heading
    delta = verdict.spread.delta
    if not delta.excludes(0):
        return f"{helps}, and does not change the spread of memories measurably"
    way = "widens" if delta.estimate > 0 else "narrows"
    failing = "its own p" if not verdict.p_spread < ALPHA else "the test that gains differ"
    return f"{helps}; that it {way} the spread is not settled ({failing} fails after Holm)"


def _range(mine: Sequence[Gain]) -> str:
    least, most = (f(mine, key=lambda g: g.interval.estimate) for f in (min, max))
    if least is most:
        return f"every one gains {formatting.signed(least.interval.estimate, 2)}"
    return (
        f"gains from {formatting.signed(least.interval.estimate, 2)} ({least.architecture}) "
        f"to {formatting.signed(most.interval.estimate, 2)} ({most.architecture})"
    )


def _detectable(mine: Sequence[Gain]) -> str:
    return formatting.number(max(g.detectable for g in mine), 2)
