"""An estimate with an interval, and the ways to get one.

Which is used where, and how often each really covers the truth at n = 3, 5 and 10, is measured by
`benchmarks/coverage.py` and stands in docs/statistics.md.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from clew.analysis.stats.task import Values

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate and where the truth plausibly lies."""

    estimate: float
    low: float
    high: float
    n: tuple[int, ...]
    """Seeds of each arm that went in."""
    method: str
    why_not: str = ""
    """If there is no interval (low and high are NaN): the reason, in words."""

    @property
    def known(self) -> bool:
        """Whether there is an interval at all."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def excludes(self, value: float) -> bool:
        """Whether `value` lies outside; an interval that is not there excludes nothing."""
        return self.known and not self.low <= value <= self.high

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies inside ±margin."""
        return self.known and -margin < self.low and self.high < margin


def without_interval(estimate: float, n: tuple[int, ...], method: str, why: str) -> Interval:
    """An estimate alone, and why there is no more."""
    return Interval(estimate, math.nan, math.nan, n, method, why)


def mean_interval(
    values: Values, level: float = LEVEL, inside: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Student's t: of those tried, what covers best at small n. It keeps inside what can be."""
    n = len(values)
    mean = float(np.mean(values))
    if n < 2:
        return without_interval(mean, (n,), "t", "one seed says nothing about the spread of seeds")
    half = t_quantile(level, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(mean, max(mean - half, inside[0]), min(mean + half, inside[1]), (n,), "t")


def welch(bonus: Values, none: Values, level: float = LEVEL) -> Interval:
    """Difference of two means, unpaired, variances free: Welch's t."""
    n = (len(bonus), len(none))
    gain = float(np.mean(bonus) - np.mean(none))
    if min(n) < 2:
        return without_interval(
            gain, n, "Welch t", "an arm with one seed has no spread to judge by"
        )
    parts = [float(np.var(v, ddof=1)) / len(v) for v in (bonus, none)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return without_interval(gain, n, "Welch t", "all seeds of both arms are equal")
    freedom = error**4 / sum(p**2 / (k - 1) for p, k in zip(parts, n, strict=True))
    half = t_quantile(level, freedom) * error
    return Interval(gain, max(gain - half, -1.0), min(gain + half, 1.0), n, "Welch t")


def t_quantile(level: float, freedom: float) -> float:
    """Half the width of a two-sided interval, in standard errors."""
    return float(stats.t.ppf((1 + level) / 2, freedom))


def percentile(boot: NDArray[np.float64], level: float = LEVEL) -> tuple[float, float]:
    """The middle of the bootstrap distribution, as the study has it."""
    return _quantiles(boot, [(1 - level) / 2, (1 + level) / 2])


def bca(
    boot: NDArray[np.float64],
    estimate: float,
    jackknife: list[NDArray[np.float64]],
    level: float = LEVEL,
) -> tuple[float, float]:
    """Efron's bias-corrected and accelerated interval for a statistic of several samples.

    `jackknife` has, for every sample, the statistic with each of its members left out.
    """
    share = (np.mean(boot < estimate) + np.mean(boot <= estimate)) / 2
    if share in (0.0, 1.0):
        return percentile(boot, level)
    bias = stats.norm.ppf(share)
    swings = [(len(left) - 1) * (left.mean() - left) / len(left) for left in jackknife]
    spread = sum(float(np.sum(u**2)) for u in swings)
    lean = sum(float(np.sum(u**3)) for u in swings) / (6 * spread**1.5) if spread > 0 else 0.0
    z = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    return _quantiles(boot, stats.norm.cdf(bias + z / (1 - lean * z)).tolist())


def _quantiles(boot: NDArray[np.float64], at: list[float]) -> tuple[float, float]:
    """Of the resamples themselves, without interpolation: a ratio may be infinite in some."""
    low, high = np.quantile(boot, at, method="closest_observation")
    return float(low), float(high)


def wilson(successes: int, n: int, level: float = LEVEL) -> Interval:
    """Share of seeds: Wilson's score interval, which keeps inside 0 to 1 and covers at n = 10."""
    if n == 0:
        return without_interval(math.nan, (0,), "Wilson", "there are no seeds")
    z = stats.norm.ppf((1 + level) / 2)
    p = successes / n
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    # at 0 and n the bounds are exactly 0 and 1, which rounding would miss
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == n else middle + half
    return Interval(p, float(low), float(high), (n,), "Wilson")
