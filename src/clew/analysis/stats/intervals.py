"""An estimate with an interval, and the ways to get one; Holm's correction for many questions.

Which is used where, and how often each really covers the truth at n = 3, 5 and 10, is measured by
`benchmarks/coverage.py` and stands in docs/concepts/statistics.md.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from clew.analysis.stats.task import Values

LEVEL = 0.95
"""Of every interval; 1 minus it is the size of the tests."""
POWER = 0.8
TINY = 1e-4
"""Seeds that differ by less than this have no spread to judge by."""
SPLITS = 20_000
"""Ways to split the seeds of two arms that are counted: all, or so many at random."""


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
        """Whether `value` lies outside; without an interval nothing is excluded."""
        return self.known and not self.low <= value <= self.high

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies inside ±margin."""
        return self.known and -margin < self.low and self.high < margin


@dataclasses.dataclass(frozen=True)
class Welch:
    """Difference of means, unpaired, variances free: Welch's t test."""

    interval: Interval
    p: float
    """Two-sided; NaN for single seeds. Where neither arm has any spread, of permuted seeds; where
    the arms have different numbers of seeds, the larger of the two."""
    detectable: float = math.nan
    """The smallest true difference that seeds with this spread show with 80% probability; 0 where
    neither arm has any spread, NaN for single seeds."""
    narrow: tuple[float, float] = (math.nan, math.nan)
    """The 90% interval, of which each end is a one-sided test at 5%."""


def without_interval(estimate: float, n: tuple[int, ...], method: str, why: str) -> Interval:
    """An estimate alone, and why there is no more."""
    return Interval(estimate, math.nan, math.nan, n, method, why)


def mean_interval(values: Values, inside: tuple[float, float] = (0.0, 1.0)) -> Interval:
    """Student's t, which covers best at small n of those tried; clipped to `inside`."""
    n = len(values)
    mean = float(np.mean(values))
    if n < 2:
        return without_interval(mean, (n,), "t", "one seed says nothing about the spread of seeds")
    half = t_quantile(n - 1) * standard_error(values)
    return Interval(mean, max(mean - half, inside[0]), min(mean + half, inside[1]), (n,), "t")


def welch(bonus: Values, none: Values) -> Welch:
    """The test of `bonus` minus `none`; its interval is clipped to −1 to 1."""
    n = (len(bonus), len(none))
    gain = float(np.mean(bonus) - np.mean(none))
    if min(n) < 2:
        why = "an arm with one seed has no spread to judge by"
        return Welch(without_interval(gain, n, "Welch t", why), math.nan, math.nan)
    if pooled_std(bonus, none) < TINY:
        # the difference is what it is, and permutations are what can be counted
        bare = without_interval(gain, n, "permutation", "the seeds of each arm are all equal")
        return Welch(bare, permuted(bonus, none), 0.0)
    with warnings.catch_warnings():
        # one arm may well have equal seeds, of which scipy warns
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test: Any = stats.ttest_ind(bonus, none, equal_var=False)
    low, high = test.confidence_interval(LEVEL)
    interval = Interval(gain, max(float(low), -1.0), min(float(high), 1.0), n, "Welch t")
    error = float(np.hypot(standard_error(bonus), standard_error(none)))
    # the chance of a significant result of the wrong sign is left out: it is below 1e-4
    detectable = float(special.nctdtrinc(test.df, 1 - POWER, t_quantile(test.df))) * error
    narrow = test.confidence_interval(2 * LEVEL - 1)
    # a few seeds that happen to agree against many that do not: Welch's t takes that for certain
    p = max(float(test.pvalue), permuted(bonus, none) if n[0] != n[1] else 0.0)
    return Welch(interval, p, detectable, (narrow.low, narrow.high))


def permuted(bonus: Values, none: Values) -> float:
    """p of Welch's t, two-sided, by the ways to split all seeds into two arms of these sizes."""
    small, large = sorted((len(bonus), len(none)))
    if pooled_std(bonus, none) < TINY:
        # 2 ways are as extreme as what was seen
        apart = abs(float(np.mean(bonus) - np.mean(none))) > TINY
        return min(1.0, 2 / math.comb(small + large, small)) if apart else 1.0
    every = np.concatenate(sorted((bonus, none), key=len))
    every = every - every.mean()
    seen = _squared_t(every, np.arange(len(every))[None, :] < small, small)[0]
    # in one order, whatever the arms: then the random ways are the same, too
    splits, sampled = _splits(small, large)
    as_large = int(np.sum(_squared_t(np.sort(every), splits, small) >= seen * (1 - 1e-9) - 1e-9))
    return (sampled + as_large) / (sampled + len(splits))


def _squared_t(values: Values, inside: NDArray[Any], n: int) -> Values:
    """Welch's t squared of those inside, n of them, against the rest: [split]."""
    sums, squares = inside @ values, inside @ values**2
    m, rest, rest_squares = len(values) - n, values.sum() - sums, (values**2).sum() - squares
    error = (squares - sums**2 / n) / (n - 1) / n + (rest_squares - rest**2 / m) / (m - 1) / m
    return (sums / n - rest / m) ** 2 / np.maximum(error, TINY**3)  # not to divide by rounding


@lru_cache(maxsize=16)
def _splits(small: int, large: int) -> tuple[Values, bool]:
    """Which seeds are in the smaller arm: [split, seed]; and whether these are a sample."""
    total = small + large
    if math.comb(total, small) > SPLITS:
        drawn = np.random.default_rng(0).random((SPLITS, total)).argsort(1)
        return (drawn < small).astype(float), True
    chosen = np.array([*itertools.combinations(range(total), small)])
    return (chosen[:, :, None] == np.arange(total)).any(1).astype(float), False


def pooled_std(one: Values, other: Values) -> float:
    """Of the seeds of an arm: both arms' variances, averaged."""
    return math.sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / 2)


def half_width(variances: Sequence[float], n: Sequence[int]) -> float:
    """Of the interval of a sum of means that have these variances, from n seeds each."""
    return t_quantile(satterthwaite(variances, n)) * math.sqrt(sum(variances))


def satterthwaite(variances: Sequence[float], n: Sequence[int]) -> float:
    """Degrees of freedom of such a sum. scipy has them for two samples of raw values only."""
    parts = np.asarray(variances)
    return float(parts.sum() ** 2 / np.sum(parts**2 / (np.asarray(n) - 1)))


def standard_error(values: Values) -> float:
    """Of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def t_quantile(freedom: float) -> float:
    """Half the width of a two-sided interval, in standard errors."""
    return float(special.stdtrit(freedom, (1 + LEVEL) / 2))


def wilson(successes: int, n: int) -> Interval:
    """Share of seeds: Wilson's score interval, which keeps inside 0 to 1 and covers at n = 10."""
    if n == 0:
        return without_interval(math.nan, (0,), "Wilson", "there are no seeds")
    low, high = stats.binomtest(successes, n).proportion_ci(LEVEL, method="wilson")
    return Interval(successes / n, float(low), float(high), (n,), "Wilson")


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected so that the chance of *any* false alarm among them stays what it says.

    The smallest is multiplied by their number, the next by one less, and so on, never falling.
    NaN (a test that could not be made) stays NaN and does not count. (scipy has the false discovery
    rate only.)
    """
    p = np.asarray(ps, float)
    corrected = np.full(p.shape, np.nan)
    asked = np.flatnonzero(np.isfinite(p))
    order = asked[np.argsort(p[asked], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else []
    return corrected.tolist()
