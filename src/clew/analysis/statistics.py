"""Every statistic of a table of runs, each computed when first asked for, and once.

The verdict, its cautions, the tables and the report all read these objects. What is computed, and
how, is in `clew.analysis.stats`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Literal, get_args

from clew.analysis.names import NONE
from clew.analysis.results import Results
from clew.analysis.stats.bootstrap import (
    PERMUTATIONS,
    RESAMPLES,
    Resampled,
    Statistic,
    bootstrap,
)
from clew.analysis.stats.effects import MARGIN
from clew.analysis.stats.gains import Gain, average_gain, gain
from clew.analysis.stats.interaction import Interaction, two_way
from clew.analysis.stats.intervals import Interval, Welch, holm, welch, without_interval
from clew.analysis.stats.missing import Gaps, gaps
from clew.analysis.stats.spread import (
    Spread,
    dispersion_ratio,
    no_spread,
    separation_change,
    spread,
    why_no_spread,
)
from clew.analysis.stats.success import improvement, iqm, with_bonus
from clew.analysis.stats.task import Pair, Task, all_bonuses, tasks
from clew.validate import BadInput, finite_number, known_names

View = Literal["memories", "with the control", "in log odds"]
"""What a spread is taken over: the memory architectures, these and the memoryless control, or the
memory architectures with every seed in log odds."""
Key = tuple[str, ...]
Arm = tuple[str, str, str, str]
"""Environment, reward, architecture, bonus."""
ONE_SEED = "an arm with one seed cannot be resampled"


class Statistics:
    """Of a table of runs. Where λ was swept, the tasks are about the λ that most runs have."""

    def __init__(
        self,
        results: Results,
        resamples: int = RESAMPLES,
        permutations: int = PERMUTATIONS,
        margin: float = MARGIN,
        decoded: Mapping[Arm, Interval] | None = None,
    ):
        if not 0 < finite_number("margin", margin) < 1:
            raise BadInput(f"margin={margin!r} is not valid; it must be between 0 and 1")
        self.results = results
        self.margin = margin
        self.decoded = decoded or {}
        """By arm: AUC of linear probes of the memory minus that of the strongest control."""
        self._sizes = (resamples, permutations)

    @cached_property
    def usual(self) -> Results:
        """The results without the rest of a sweep."""
        return self.results.usual()

    @cached_property
    def tasks(self) -> tuple[TaskStatistics, ...]:
        """Of every task with a finished run, in the study's order."""
        return tuple(TaskStatistics(task, *self._sizes) for task in tasks(self.usual))

    @cached_property
    def bonuses(self) -> tuple[str, ...]:
        """Every bonus but none, of any of the tasks."""
        return all_bonuses(found.task for found in self.tasks)

    @cached_property
    def gaps(self) -> Gaps:
        """The runs that are left out of everything else."""
        return gaps(self.results)

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """What each bonus does to the memoryless control, wherever it ran with and without."""
        lower = self.results.lower
        asked = [(t, b) for t in self.tasks for b in t.task.bonuses if (lower, b) in t.welch]
        tests = [t.welch[lower, b] for t, b in asked]
        corrected = holm([test.p for test in tests])
        return tuple(
            Control(t.task, b, test.interval, t.improvements[lower, b], p)
            for (t, b), test, p in zip(asked, tests, corrected, strict=True)
        )


class TaskStatistics:
    """Of one task."""

    def __init__(self, task: Task, resamples: int = RESAMPLES, permutations: int = PERMUTATIONS):
        self.task = task
        self.resamples = resamples
        self.permutations = permutations

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every architecture, the controls included, and bonus that can be compared with none."""
        task = self.task
        return tuple((a, b) for b in task.bonuses for a in task.both(b, task.architectures))

    @cached_property
    def welch(self) -> dict[Pair, Welch]:
        """The test of every arm with a bonus against the one without."""
        arms = self.task.arms
        return {(a, b): welch(arms[a, b], arms[a, NONE]) for a, b in self.pairs}

    @cached_property
    def gains(self) -> tuple[Gain, ...]:
        """Of every architecture and bonus; the family that is corrected for is all of them."""
        corrected = holm([test.p for test in self.welch.values()])
        return tuple(
            Gain(a, b, test.interval, self._bootstrap_gain(a, b), p, test.detectable)
            for ((a, b), test), p in zip(self.welch.items(), corrected, strict=True)
        )

    @cached_property
    def average_gains(self) -> dict[str, Welch]:
        """By bonus: the mean gain of the memory architectures."""
        return {b: average_gain(self.task, b) for b in self.task.bonuses}

    @cached_property
    def improvements(self) -> dict[Pair, Interval]:
        """How often a seed with the bonus beats one without."""
        arms = self.task.arms
        return {(a, b): improvement(arms[a, b], arms[a, NONE]) for a, b in self.pairs}

    @cached_property
    def interactions(self) -> dict[str, Interaction]:
        """By bonus: does its effect depend on the architecture? Needs two of them."""
        return {
            b: two_way(self.task, b, self.permutations)
            for b in self.task.bonuses
            if len(self.task.both(b)) > 1
        }

    @cached_property
    def iqm(self) -> dict[str, Interval]:
        """By bonus, none included: the interquartile mean over the memory architectures."""
        return {b: self._iqm(b) for b in (NONE, *self.task.bonuses)}

    def spread(self, bonus: str, view: View = "memories") -> Spread:
        """How far apart the architectures are with the bonus and without."""
        known_names("bonus", [bonus], self.task.bonuses)
        return self._spreads[bonus, view]

    @cached_property
    def with_failures(self) -> TaskStatistics:
        """The same with every failed run counted as success 0."""
        if not self.task.failed:
            return self
        filled = self.task.with_failures_as_zero()
        return TaskStatistics(filled, self.resamples, self.permutations)

    @cached_property
    def _spreads(self) -> dict[tuple[str, View], Spread]:
        return {(b, v): self._spread(b, v) for b in self.task.bonuses for v in get_args(View)}

    def _spread(self, bonus: str, view: View) -> Spread:
        chosen = self._chosen(bonus, view)
        seen = self.task.in_log_odds if view == "in log odds" else self.task
        if why := why_no_spread(seen, bonus, chosen):
            return no_spread(seen, bonus, chosen, why)
        delta, ratio = (self._resampled[what, bonus, view] for what in ("delta", "ratio"))
        return spread(seen, bonus, chosen, delta, ratio)

    def _chosen(self, bonus: str, view: View) -> tuple[str, ...]:
        task = self.task
        return task.both(bonus, task.with_lower if view == "with the control" else task.memories)

    def _bootstrap_gain(self, architecture: str, bonus: str) -> Interval:
        estimate = float(gain(self.task, architecture, bonus))
        n = tuple(len(self.task.arms[architecture, b]) for b in (bonus, NONE))
        if min(n) < 2:
            return without_interval(estimate, n, "percentile", ONE_SEED)
        found = self._resampled["gain", architecture, bonus]
        return Interval(estimate, found.low, found.high, n, "percentile")

    def _iqm(self, bonus: str) -> Interval:
        method = "stratified percentile"
        n = tuple(len(v) for v in self.task.column(bonus, with_bonus(self.task, bonus)))
        if not n:
            return without_interval(math.nan, n, method, "there is no run")
        estimate = float(iqm(self.task, bonus))
        if min(n) < 2:
            return without_interval(estimate, n, method, ONE_SEED)
        found = self._resampled["iqm", bonus]
        return Interval(estimate, found.low, found.high, n, method)

    @cached_property
    def _resampled(self) -> dict[Key, Resampled]:
        """All that is bootstrapped, from one set of resamples."""
        task = self.task
        sizes = {arm: len(values) for arm, values in task.arms.items()}
        wanted: dict[Key, Statistic] = {}
        for a, b in self.pairs:
            if min(sizes[a, b], sizes[a, NONE]) > 1:
                wanted["gain", a, b] = partial(gain, architecture=a, bonus=b)
        for b in (NONE, *task.bonuses):
            if min((sizes[a, b] for a in with_bonus(task, b)), default=0) > 1:
                wanted["iqm", b] = partial(iqm, bonus=b)
        for b in task.bonuses:
            for view in get_args(View):
                chosen = self._chosen(b, view)
                if not why_no_spread(task, b, chosen):
                    delta = partial(separation_change, bonus=b, chosen=chosen)
                    ratio = partial(dispersion_ratio, bonus=b, chosen=chosen)
                    wanted["delta", b, view] = _seen(delta, view)
                    wanted["ratio", b, view] = _seen(ratio, view)
        return bootstrap(task, wanted, self.resamples)


@dataclasses.dataclass(frozen=True)
class Control:
    """What one bonus does to the agent without a memory.

    A bonus that helps it helps by something other than memory.
    """

    task: Task
    bonus: str
    gain: Interval
    improvement: Interval
    p_holm: float
    """Over every task and bonus of the table."""

    @property
    def reading(self) -> str:
        """'helped', 'hurt' or 'not moved'."""
        if not self.p_holm < 0.05:
            return "not moved"
        return "helped" if self.gain.estimate > 0 else "hurt"


def _seen(statistic: Statistic, view: View) -> Statistic:
    return (lambda task: statistic(task.in_log_odds)) if view == "in log odds" else statistic
