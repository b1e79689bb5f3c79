"""What a bonus gains within an arm: mean with it minus mean without."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import stats

from clew.analysis.names import NONE
from clew.analysis.stats.families import holm
from clew.analysis.stats.intervals import (
    LEVEL,
    Interval,
    bca,
    percentile,
    t_quantile,
    welch,
    without_interval,
)
from clew.analysis.stats.power import detectable_difference
from clew.analysis.stats.resample import RESAMPLES, mean_draws
from clew.analysis.stats.task import Task, Values


@dataclasses.dataclass(frozen=True)
class Gain:
    """One architecture's gain from one bonus."""

    architecture: str
    bonus: str
    interval: Interval
    """Welch's t, which covers at small n."""
    bootstrap: Interval
    """The study's: seeds of both arms drawn anew, unpaired."""
    p: float
    """Two-sided, Welch; NaN where there is no spread to judge by."""
    p_holm: float
    """… corrected for all gains of the task."""
    detectable: float
    """The smallest true gain that seeds like these would have shown with 80% probability."""


def gains(task: Task, resamples: int = RESAMPLES) -> list[Gain]:
    """Every architecture and bonus of a task that can be compared with none."""
    pairs = [(a, b) for b in task.bonuses for a in task.both(b, control=True)]
    arms = [(task.arms[a, b], task.arms[a, NONE]) for a, b in pairs]
    ps = [welch_p(*pair) for pair in arms]
    return [
        Gain(
            architecture=a,
            bonus=b,
            interval=welch(*pair),
            bootstrap=bootstrap_gain(task, a, b, resamples),
            p=p,
            p_holm=corrected,
            detectable=detectable_difference(*pair),
        )
        for (a, b), pair, p, corrected in zip(pairs, arms, ps, holm(ps), strict=True)
    ]


def bootstrap_gain(
    task: Task,
    architecture: str,
    bonus: str,
    resamples: int = RESAMPLES,
    method: str = "percentile",
    level: float = LEVEL,
) -> Interval:
    """Unpaired seed bootstrap of the gain, percentile or BCa."""
    with_bonus, without = task.arms[architecture, bonus], task.arms[architecture, NONE]
    gain = float(with_bonus.mean() - without.mean())
    n = (len(with_bonus), len(without))
    if min(n) < 2:
        return without_interval(gain, n, method, "an arm with one seed cannot be resampled")
    boot = mean_draws(task, architecture, bonus, resamples)
    boot = boot - mean_draws(task, architecture, NONE, resamples)
    if method == "BCa":
        left_out = [leave_one_out(with_bonus) - without.mean()]
        left_out.append(with_bonus.mean() - leave_one_out(without))
        return Interval(gain, *bca(boot, gain, left_out, level), n, method)
    return Interval(gain, *percentile(boot, level), n, method)


def leave_one_out(values: Values) -> Values:
    """The mean without each of the values in turn."""
    return (values.sum() - values) / (len(values) - 1)


def welch_p(bonus: Values, none: Values) -> float:
    """Two-sided p of Welch's test; NaN where neither arm has any spread."""
    if min(len(bonus), len(none)) < 2 or np.ptp(bonus) == np.ptp(none) == 0:
        return float("nan")
    test: Any = stats.ttest_ind(bonus, none, equal_var=False)
    return float(test.pvalue)


def average_gain(task: Task, bonus: str, level: float = LEVEL) -> Interval:
    """The mean of the memory architectures' gains, each counted alike.

    Its error is that of the arms' means added up; degrees of freedom by Satterthwaite.
    """
    chosen = task.both(bonus)
    if not chosen:
        return without_interval(float("nan"), (), "Welch t", f"no architecture ran with {bonus}")
    arms = task.column(bonus, chosen) + task.column(NONE, chosen)
    n = tuple(len(v) for v in arms)
    k = len(chosen)
    means = np.array([v.mean() for v in arms])
    gain = float(means[:k].mean() - means[k:].mean())
    if min(n) < 2:
        return without_interval(
            gain, n, "Welch t", "an arm with one seed has no spread to judge by"
        )
    parts = np.array([v.var(ddof=1) / len(v) for v in arms]) / k**2
    if parts.sum() == 0:
        return without_interval(gain, n, "Welch t", "all seeds of every arm are equal")
    freedom = parts.sum() ** 2 / np.sum(parts**2 / (np.array(n) - 1))
    half = t_quantile(level, float(freedom)) * float(np.sqrt(parts.sum()))
    return Interval(gain, gain - half, gain + half, n, "Welch t")
