"""Probability of improvement: how often a seed with the bonus beats one without."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

from clew.analysis.names import NONE
from clew.analysis.stats.intervals import LEVEL, Interval, percentile, without_interval
from clew.analysis.stats.resample import RESAMPLES, draws
from clew.analysis.stats.task import Task, Values


def wins(bonus: Values, none: Values) -> Values:
    """[..., seed] twice: the share of all pairings that the first wins; a tie is half a win."""
    above = bonus[..., :, None] - none[..., None, :]
    return np.mean((above > 0) + 0.5 * (above == 0), axis=(-2, -1))


def improvement(bonus: Values, none: Values, level: float = LEVEL) -> Interval:
    """Pr(bonus > none), with Newcombe's score-like interval for the Mann–Whitney statistic.

    The bootstrap interval of 1.00 is the single point 1.00, which no ten seeds can prove; this
    one stays open there. (Newcombe 2006, method 5.)
    """
    n = (len(bonus), len(none))
    share = float(wins(bonus, none))
    if min(n) < 2:
        return without_interval(share, n, "Newcombe", "an arm with one seed proves little")
    z = float(stats.norm.ppf((1 + level) / 2))

    def beyond(truth: float) -> float:
        return abs(share - truth) - z * math.sqrt(_variance(truth, *n))

    # at 0 and 1 themselves the variance is nothing, and the equation has a second, empty root
    near = 1e-9
    low = 0.0 if share == 0 else _root(beyond, near, min(share, 1 - near))
    high = 1.0 if share == 1 else _root(beyond, max(share, near), 1 - near)
    return Interval(share, low, high, n, "Newcombe")


def bootstrap_improvement(
    task: Task, architecture: str, bonus: str, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The same share with the study's bootstrap interval."""
    pair = [task.arms[architecture, b] for b in (bonus, NONE)]
    drawn = [
        draws(v, *task.key(architecture, b), resamples=resamples)
        for v, b in zip(pair, (bonus, NONE), strict=True)
    ]
    n = (len(pair[0]), len(pair[1]))
    return Interval(float(wins(*pair)), *percentile(wins(*drawn), level), n, "percentile")


def _variance(truth: float, m: int, n: int) -> float:
    """Hanley and McNeil's, with both samples' sizes put at their mean."""
    extra = (m + n) / 2 - 1
    inflated = 1 + extra * ((1 - truth) / (2 - truth) + truth / (1 + truth))
    return truth * (1 - truth) * inflated / (m * n)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where `function`, of different sign at `low` and `high`, is zero."""
    return float(optimize.brentq(function, low, high))  # type: ignore[arg-type]
