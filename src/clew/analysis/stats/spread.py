"""How far apart the architectures are, and what the bonus does to that.

With m_a the mean of architecture a: the *dispersion* is the sample variance of the m_a, and the
*separation index* SEP their population standard deviation. Amplification means that the ratio of
dispersions is above 1 and ΔSEP above 0, equalisation the opposite.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from clew.analysis.names import NONE
from clew.analysis.stats.gains import leave_one_out
from clew.analysis.stats.intervals import LEVEL, Interval, bca, percentile, without_interval
from clew.analysis.stats.resample import RESAMPLES, column_draws
from clew.analysis.stats.task import Task

Means = NDArray[np.float64]
FROZEN = 1e-6
"""A dispersion below this is no spread that a ratio could be taken of (SEP below 0.001)."""


@dataclasses.dataclass(frozen=True)
class Spread:
    """Of one task and bonus."""

    bonus: str
    architectures: tuple[str, ...]
    none: float
    """Dispersion without the bonus."""
    dispersed: float
    """… with it."""
    ratio: Interval
    sep_none: float
    sep: float
    delta: Interval
    """ΔSEP."""
    delta_beyond_noise: float
    """ΔSEP with seed noise taken out of both sides. Means of few, noisy seeds lie apart even where
    the architectures do not: a bonus that only steadies the seeds makes SEP smaller, too."""
    p: float
    """Two-sided bootstrap p of ΔSEP = 0."""


def dispersion(means: Means) -> Means:
    """[..., architecture] to the variance of architecture means, ddof 1."""
    return np.var(means, axis=-1, ddof=1)


def separation(means: Means) -> Means:
    """[..., architecture] to SEP, the population standard deviation."""
    return np.std(means, axis=-1)


def separation_beyond_noise(arms: list[Means]) -> float:
    """SEP less what the seeds' own variance adds to it; 0 if that is all there is."""
    means = np.array([v.mean() for v in arms])
    noise = np.mean([v.var(ddof=1) / len(v) for v in arms]) * (1 - 1 / len(arms))
    return math.sqrt(max(float(np.var(means) - noise), 0.0))


def spread(
    task: Task,
    bonus: str,
    control: bool = False,
    resamples: int = RESAMPLES,
    method: str = "percentile",
    level: float = LEVEL,
) -> Spread:
    """Compare the spread of architectures with `bonus` and without.

    `control` adds the memoryless one. Needs two architectures; with fewer, everything is NaN and
    says why.
    """
    chosen = task.both(bonus, control)
    n = tuple(len(task.arms[a, b]) for b in (bonus, NONE) for a in chosen)
    if len(chosen) < 2 or min(n) < 2:
        return _nothing(bonus, chosen, n, method)
    columns = [task.column(b, chosen) for b in (bonus, NONE)]
    means = [np.array([v.mean() for v in column]) for column in columns]
    boot = [column_draws(task, b, chosen, resamples) for b in (bonus, NONE)]
    left = _left_out(columns, means)

    def interval(statistic: Callable[[Means, Means], Means]) -> Interval:
        estimate = float(statistic(*means))
        drawn = statistic(*boot)
        if method == "BCa":
            out = [statistic(*pair) for pair in left]
            return Interval(estimate, *bca(drawn, estimate, out, level), n, method)
        return Interval(estimate, *percentile(drawn, level), n, method)

    v, v_none = (float(dispersion(m)) for m in means)
    delta = interval(lambda b, o: separation(b) - separation(o))
    if v_none < FROZEN:
        why = "without the bonus all architectures are alike, and nothing can be divided by that"
        ratio = without_interval(math.nan, n, method, why)
    else:
        ratio = interval(_ratio)
        if not ratio.known:
            why = "in some resamples the architectures are all alike without the bonus"
            ratio = without_interval(ratio.estimate, n, method, why)
    drawn = separation(boot[0]) - separation(boot[1])
    below, above = np.sum(drawn <= 0), np.sum(drawn >= 0)
    p = min(1.0, 2 * float(1 + min(below, above)) / (1 + resamples))
    sep, sep_none = (float(separation(m)) for m in means)
    beyond = separation_beyond_noise(columns[0]) - separation_beyond_noise(columns[1])
    return Spread(bonus, chosen, v_none, v, ratio, sep_none, sep, delta, beyond, p)


def _ratio(bonus: Means, none: Means) -> Means:
    with np.errstate(divide="ignore", invalid="ignore"):
        return dispersion(bonus) / dispersion(none)


def _left_out(columns: list[list[Means]], means: list[Means]) -> list[tuple[Means, Means]]:
    """For every arm, both columns of means without each of its seeds: [seed, architecture]."""
    out = []
    for side, column in enumerate(columns):
        for i, values in enumerate(column):
            pair = [np.tile(m, (len(values), 1)) for m in means]
            pair[side][:, i] = leave_one_out(values)
            out.append((pair[0], pair[1]))
    return out


def _nothing(bonus: str, chosen: tuple[str, ...], n: tuple[int, ...], method: str) -> Spread:
    nan = math.nan
    if len(chosen) < 2:
        why = f"a spread needs two architectures that ran with {bonus} and without"
    else:
        why = "an arm with one seed cannot be resampled"
    no = without_interval(nan, n, method, why)
    return Spread(bonus, chosen, nan, nan, no, nan, nan, no, nan, nan)
