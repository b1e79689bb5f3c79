"""What a bonus gains: mean success with it minus mean success without."""

from __future__ import annotations

import dataclasses
import math

from scipy import special

from clew.analysis.names import NONE
from clew.analysis.stats.intervals import (
    TINY,
    Interval,
    Welch,
    half_width,
    satterthwaite,
    without_interval,
)
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
    """Two-sided, as `welch` has it, corrected for all gains of the task; NaN without a spread to
    judge by."""
    detectable: float
    """The smallest true gain that seeds like these would have shown with 80% probability."""


def gain(task: Task, architecture: str, bonus: str) -> Values:
    """[...]: one architecture's gain."""
    one = (architecture,)
    return (task.means(bonus, one) - task.means(NONE, one))[..., 0]


def average_gain(task: Task, bonus: str) -> Welch:
    """The mean of the memory architectures' gains, each counted alike.

    Its error is that of the arms' means added up; degrees of freedom by Satterthwaite.
    """
    chosen = task.both(bonus)
    if not chosen:
        why = f"no architecture ran with {bonus}"
        return Welch(without_interval(math.nan, (), "Welch t", why), math.nan)
    arms = task.column(bonus, chosen) + task.column(NONE, chosen)
    n = tuple(len(v) for v in arms)
    mean = float(task.means(bonus, chosen).mean() - task.means(NONE, chosen).mean())
    if min(n) < 2:
        why = "an arm with one seed has no spread to judge by"
        return Welch(without_interval(mean, n, "Welch t", why), math.nan)
    spreads = [float(v.var(ddof=1)) for v in arms]
    if math.sqrt(max(spreads)) < TINY:
        bare = without_interval(mean, n, "permutation", "the seeds of each arm are all equal")
        return Welch(bare, _permuted(task, bonus, chosen, mean))
    variances = [v / size / len(chosen) ** 2 for v, size in zip(spreads, n, strict=True)]
    half, error = half_width(variances, n), math.sqrt(sum(variances))
    p = 2 * special.stdtr(satterthwaite(variances, n), -abs(mean) / error)
    return Welch(Interval(mean, mean - half, mean + half, n, "Welch t"), float(p))


def _permuted(task: Task, bonus: str, chosen: tuple[str, ...], mean: float) -> float:
    """Of labels permuted within each architecture, 2 ways are as extreme, or none is more."""
    if abs(mean) <= TINY:
        return 1.0
    sizes = [(len(task.arms[a, bonus]), len(task.arms[a, NONE])) for a in chosen]
    moved = [
        n for n, a in zip(sizes, chosen, strict=True) if abs(float(gain(task, a, bonus))) > TINY
    ]
    return min(1.0, 2 / math.prod(math.comb(sum(n), n[0]) for n in moved))
