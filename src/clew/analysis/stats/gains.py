"""What a bonus gains: mean success with it minus mean success without."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from clew.analysis.names import NONE
from clew.analysis.stats.intervals import Interval, half_width, without_interval
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
    p_holm: float
    """Two-sided, Welch, corrected for all gains of the task; NaN without a spread to judge by."""
    detectable: float
    """The smallest true gain that seeds like these would have shown with 80% probability."""


def gain(task: Task, architecture: str, bonus: str) -> Values:
    """[...]: one architecture's gain."""
    one = (architecture,)
    return (task.means(bonus, one) - task.means(NONE, one))[..., 0]


def average_gain(task: Task, bonus: str) -> Interval:
    """The mean of the memory architectures' gains, each counted alike.

    Its error is that of the arms' means added up; degrees of freedom by Satterthwaite.
    """
    chosen = task.both(bonus)
    if not chosen:
        return without_interval(math.nan, (), "Welch t", f"no architecture ran with {bonus}")
    arms = task.column(bonus, chosen) + task.column(NONE, chosen)
    n = tuple(len(v) for v in arms)
    mean = float(task.means(bonus, chosen).mean() - task.means(NONE, chosen).mean())
    if min(n) < 2:
        why = "an arm with one seed has no spread to judge by"
        return without_interval(mean, n, "Welch t", why)
    if all(np.ptp(v) == 0 for v in arms):
        return without_interval(mean, n, "Welch t", "all seeds of every arm are equal")
    variances = [float(v.var(ddof=1)) / len(v) / len(chosen) ** 2 for v in arms]
    half = half_width(variances, n)
    return Interval(mean, mean - half, mean + half, n, "Welch t")
