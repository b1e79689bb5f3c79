"""What a change does to an agent: helps, hurts, does not matter, or cannot be told yet."""

from __future__ import annotations

import bisect
import dataclasses
import math
from functools import cached_property
from typing import Literal

from scipy import special, stats

from clew.analysis.stats.intervals import LEVEL, POWER, TINY, Interval, pooled_std, welch
from clew.analysis.stats.task import Values

Said = Literal["helps", "hurts", "does not matter", "cannot be told"]
MARGIN = 0.05
"""A difference inside ±this does not matter, unless another margin is given."""
SEEDS = 3
"""With fewer seeds in an arm nothing is concluded."""
EQUIVALENT_SEEDS = 5
"""With fewer, no difference is said not to matter: seeds that happen to agree would pass."""
MOST = 1000
"""Seeds beyond which no number is given."""
ALPHA = 1 - LEVEL


@dataclasses.dataclass(frozen=True)
class Effect:
    """The mean of one arm minus the mean of another, and what the seeds say of it."""

    interval: Interval
    """95%, Welch's t."""
    p: float
    """That the means differ: two-sided, as `welch` has it; with `corrected`, after Holm."""
    equivalent: bool
    """Whether two one-sided tests at 5% put the difference inside ±margin."""
    std: float
    """Of the seeds of an arm: both arms' variances, averaged."""
    margin: float

    @cached_property
    def needed(self) -> int | None:
        """Seeds an arm that would probably tell (80%); None for too few seeds, or over `MOST`."""
        if min(self.interval.n) < SEEDS:
            return None
        return seeds_needed(abs(self.interval.estimate), self.std, self.margin)

    @property
    def said(self) -> Said:
        """Equivalence first; then a difference, if it is as large as the margin in these seeds."""
        if self.equivalent:
            return "does not matter"
        if self.p < ALPHA and abs(self.interval.estimate) >= self.margin:
            return "helps" if self.interval.estimate > 0 else "hurts"
        return "cannot be told"

    @property
    def little(self) -> bool:
        """Whether it differs from 0 by less than the margin in these seeds, and may by more."""
        differs = self.p < ALPHA and abs(self.interval.estimate) < self.margin
        return differs and not self.equivalent

    def said_with(self, seeds: int) -> Said:
        """What so many seeds an arm would probably say, were the difference seen the true one."""
        if self.said != "cannot be told" or self.needed is None or self.needed > seeds:
            return self.said
        if abs(self.interval.estimate) <= self.margin:
            return "does not matter"
        return "helps" if self.interval.estimate > 0 else "hurts"

    @property
    def helps(self) -> bool:
        """Short for the commonest question."""
        return self.said == "helps"

    @property
    def excluded(self) -> bool:
        """Whether the seeds speak against any help that matters."""
        return self.said in ("does not matter", "hurts")

    def open(self) -> Effect:
        """The same without a claim of equality: of arms that say nothing."""
        return dataclasses.replace(self, equivalent=False)

    def corrected(self, p: float) -> Effect:
        """The same with the p-value that a correction for several questions gave."""
        return dataclasses.replace(self, p=p)


def effect(after: Values, before: Values, margin: float = MARGIN) -> Effect:
    """Compare two arms, whose seeds are not paired."""
    test = welch(after, before)
    interval, n = test.interval, (len(after), len(before))
    if min(n) < SEEDS:
        return Effect(interval, math.nan, False, math.nan, margin)
    enough = min(n) >= EQUIVALENT_SEEDS
    std = pooled_std(after, before)
    if std < TINY:
        return Effect(interval, test.p, enough and abs(interval.estimate) < margin, 0.0, margin)
    # two one-sided tests (Schuirmann 1987)
    low, high = test.narrow
    return Effect(interval, test.p, enough and -margin < low and high < margin, std, margin)


def seeds_needed(gap: float, std: float, margin: float) -> int | None:
    """Seeds an arm after which one of the tests decides, with 80% probability.

    If the difference seen is larger than the margin, until it is said to help or hurt, should it
    be the true one; if not, until a true difference of 0 is shown to be inside ±margin.
    """
    tried = range(SEEDS if gap > margin else EQUIVALENT_SEEDS, MOST + 1)
    found = bisect.bisect_left(tried, POWER, key=lambda n: _power(n, gap, std, margin))
    return tried[found] if found < len(tried) else None


def _power(n: int, gap: float, std: float, margin: float) -> float:
    if std < TINY:
        return float(gap <= margin or 2 / special.comb(2 * n, n) < ALPHA)
    freedom, error = 2 * n - 2, std * math.sqrt(2 / n)
    if gap > margin:
        # significant, and at least the margin as estimated
        least = max(stats.t.ppf((1 + LEVEL) / 2, freedom), margin / error)
        return float(stats.nct.sf(least, freedom, gap / error))
    critical = stats.t.ppf(LEVEL, freedom)
    return float(2 * stats.t.cdf(margin / error - critical, freedom) - 1)
