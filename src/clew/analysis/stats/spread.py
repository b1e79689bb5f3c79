"""How far apart the architectures are, and what the bonus does to that.

With m_a the mean of architecture a: the *dispersion* is the sample variance of the m_a, and the
*separation index* SEP their population standard deviation. Amplification means that the ratio of
dispersions is above 1 and ΔSEP above 0, equalisation the opposite.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from clew.analysis.names import NONE
from clew.analysis.stats.bootstrap import Resampled
from clew.analysis.stats.intervals import Interval, without_interval
from clew.analysis.stats.task import Task, Values

FROZEN = 1e-6
"""A dispersion below this is no spread that a ratio could be taken of (SEP below 0.001)."""
METHOD = "percentile"


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
    sep: float
    """With the bonus."""
    delta: Interval
    """ΔSEP."""
    delta_beyond_noise: float
    """ΔSEP with seed noise taken out of both sides. Means of few, noisy seeds lie apart even where
    the architectures do not: a bonus that only steadies the seeds makes SEP smaller, too."""
    p: float
    """Two-sided bootstrap p of ΔSEP = 0."""


def dispersion(means: Values) -> Values:
    """[..., architecture] to the variance of architecture means, ddof 1."""
    return np.var(means, axis=-1, ddof=1)


def separation(means: Values) -> Values:
    """[..., architecture] to SEP, the population standard deviation."""
    return np.std(means, axis=-1)


def separation_change(task: Task, bonus: str, chosen: tuple[str, ...]) -> Values:
    """[...]: ΔSEP of the chosen architectures."""
    return separation(task.means(bonus, chosen)) - separation(task.means(NONE, chosen))


def dispersion_ratio(task: Task, bonus: str, chosen: tuple[str, ...]) -> Values:
    """[...]: the dispersion with the bonus over that without."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return dispersion(task.means(bonus, chosen)) / dispersion(task.means(NONE, chosen))


def separation_beyond_noise(arms: list[Values]) -> float:
    """SEP less what the seeds' own variance adds to it; 0 if that is all there is."""
    means = np.array([v.mean() for v in arms])
    noise = np.mean([v.var(ddof=1) / len(v) for v in arms]) * (1 - 1 / len(arms))
    return math.sqrt(max(float(np.var(means) - noise), 0.0))


def why_no_spread(task: Task, bonus: str, chosen: tuple[str, ...]) -> str:
    """Empty if the spread of the chosen architectures can be compared with and without."""
    if len(chosen) < 2:
        return f"a spread needs two architectures that ran with {bonus} and without"
    if min(_counts(task, bonus, chosen)) < 2:
        return "an arm with one seed cannot be resampled"
    return ""


def spread(
    task: Task, bonus: str, chosen: tuple[str, ...], delta: Resampled, ratio: Resampled
) -> Spread:
    """Compare the spread of the chosen architectures with `bonus` and without.

    `delta` and `ratio` are `separation_change` and `dispersion_ratio` over resamples of the task.
    """
    n = _counts(task, bonus, chosen)
    columns = [task.column(b, chosen) for b in (bonus, NONE)]
    means = [task.means(b, chosen) for b in (bonus, NONE)]
    v, v_none = (float(dispersion(m)) for m in means)
    sep, sep_none = (float(separation(m)) for m in means)
    below, above = np.sum(delta.values <= 0), np.sum(delta.values >= 0)
    p = min(1.0, 2 * float(1 + min(below, above)) / (1 + len(delta.values)))
    beyond = separation_beyond_noise(columns[0]) - separation_beyond_noise(columns[1])
    return Spread(
        bonus=bonus,
        architectures=chosen,
        none=v_none,
        dispersed=v,
        ratio=_ratio(v, v_none, ratio, n),
        sep=sep,
        delta=Interval(sep - sep_none, delta.low, delta.high, n, METHOD),
        delta_beyond_noise=beyond,
        p=p,
    )


def no_spread(task: Task, bonus: str, chosen: tuple[str, ...], why: str) -> Spread:
    """Everything NaN, and the reason."""
    nan = math.nan
    no = without_interval(nan, _counts(task, bonus, chosen), METHOD, why)
    return Spread(bonus, chosen, nan, nan, no, nan, no, nan, nan)


def _ratio(v: float, v_none: float, found: Resampled, n: tuple[int, ...]) -> Interval:
    if v_none < FROZEN:
        why = "without the bonus all architectures are alike, and nothing can be divided by that"
        return without_interval(math.nan, n, METHOD, why)
    ratio = Interval(v / v_none, found.low, found.high, n, METHOD)
    if not ratio.known:
        why = "in some resamples the architectures are all alike without the bonus"
        return without_interval(ratio.estimate, n, METHOD, why)
    return ratio


def _counts(task: Task, bonus: str, chosen: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(len(task.arms[a, b]) for b in (bonus, NONE) for a in chosen)
