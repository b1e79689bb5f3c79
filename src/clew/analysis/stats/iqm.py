"""Interquartile mean over the runs of several architectures, with a stratified bootstrap."""

from __future__ import annotations

import numpy as np

from clew.analysis.stats.intervals import LEVEL, Interval, percentile, without_interval
from clew.analysis.stats.resample import RESAMPLES, draws
from clew.analysis.stats.task import Task, Values


def interquartile_mean(values: Values) -> Values:
    """[..., run] to the mean of the middle half: a quarter, rounded down, is cut at each end."""
    n = values.shape[-1]
    cut = n // 4
    return np.mean(np.sort(values, -1)[..., cut : n - cut], -1)


def iqm(
    task: Task,
    bonus: str,
    architectures: tuple[str, ...] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Of one bonus's runs over all memory architectures; seeds are drawn anew within each."""
    pool = task.memories if architectures is None else architectures
    chosen = tuple(a for a in pool if (a, bonus) in task.arms)
    if not chosen:
        return without_interval(float("nan"), (), "stratified percentile", "there is no run")
    arms = task.column(bonus, chosen)
    n = tuple(len(v) for v in arms)
    estimate = float(interquartile_mean(np.concatenate(arms)))
    if min(n) < 2:
        why = "an arm with one seed cannot be resampled"
        return without_interval(estimate, n, "stratified percentile", why)
    drawn = [
        draws(v, *task.key(a, bonus), resamples=resamples)
        for a, v in zip(chosen, arms, strict=True)
    ]
    boot = interquartile_mean(np.concatenate(drawn, 1))
    return Interval(estimate, *percentile(boot, level), n, "stratified percentile")
