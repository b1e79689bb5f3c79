"""How well arms do: the typical run, seeds that learnt the task, how often one beats another."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

from clew.analysis.names import LEARNT
from clew.analysis.stats.intervals import LEVEL, Interval, wilson, without_interval
from clew.analysis.stats.task import Task, Values


def iqm(task: Task, bonus: str) -> Values:
    """[...]: interquartile mean of one bonus's runs over all memory architectures."""
    return interquartile_mean(np.concatenate(task.column(bonus, with_bonus(task, bonus)), -1))


def with_bonus(task: Task, bonus: str) -> tuple[str, ...]:
    """The memory architectures that ran with `bonus`, or with none."""
    return tuple(a for a in task.memories if (a, bonus) in task.arms)


def interquartile_mean(values: Values) -> Values:
    """[..., run] to the mean of the middle half: a quarter, rounded down, is cut at each end."""
    return stats.trim_mean(values, 0.25, axis=-1)


def learnt(values: Values) -> Interval:
    """The share of seeds whose tail mean exceeds `LEARNT`: immune to any rescaling of it."""
    return wilson(int(np.sum(values > LEARNT)), len(values))


def wins(bonus: Values, none: Values) -> Values:
    """[..., seed] twice: the share of all pairings that the first wins; a tie is half a win."""
    above = bonus[..., :, None] - none[..., None, :]
    return np.mean((above > 0) + 0.5 * (above == 0), axis=(-2, -1))


def improvement(bonus: Values, none: Values) -> Interval:
    """Pr(bonus > none), with Newcombe's score-like interval for the Mann–Whitney statistic.

    The bootstrap interval of 1.00 is the single point 1.00, which no ten seeds can prove; this
    one stays open there. (Newcombe 2006, method 5.)
    """
    n = (len(bonus), len(none))
    share = float(wins(bonus, none))
    if min(n) < 2:
        return without_interval(share, n, "Newcombe", "an arm with one seed proves little")
    z = float(stats.norm.ppf((1 + LEVEL) / 2))

    def beyond(truth: float) -> float:
        return abs(share - truth) - z * math.sqrt(_variance(truth, *n))

    # at 0 and 1 themselves the variance is nothing, and the equation has a second, empty root
    near = 1e-9
    low = 0.0 if share == 0 else _root(beyond, near, min(share, 1 - near))
    high = 1.0 if share == 1 else _root(beyond, max(share, near), 1 - near)
    return Interval(share, low, high, n, "Newcombe")


def _variance(truth: float, m: int, n: int) -> float:
    """Hanley and McNeil's, with both samples' sizes put at their mean."""
    extra = (m + n) / 2 - 1
    inflated = 1 + extra * ((1 - truth) / (2 - truth) + truth / (1 + truth))
    return truth * (1 - truth) * inflated / (m * n)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where `function`, of different sign at `low` and `high`, is zero."""
    return float(optimize.brentq(function, low, high))  # type: ignore[arg-type]
