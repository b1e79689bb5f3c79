"""What the curves say: how soon a threshold is sustained, and bands over seeds."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from clew.analysis.results import Curve, Results
from clew.analysis.stats.intervals import LEVEL, mean_interval
from clew.analysis.stats.task import Values
from clew.metrics import TAIL
from clew.validate import BadInput

GRID = 500
"""Steps at which curves are read off for their mean."""
WINDOW = 5
"""Consecutive evaluations whose mean must reach the threshold."""


@dataclasses.dataclass(frozen=True)
class Sustained:
    """When one arm's seeds came to hold a threshold."""

    steps: tuple[float, ...]
    """Of every seed, in order; infinite for never, as far as it was trained."""
    median_of_successful: float
    """The study's figure: over the seeds that did; NaN if none did."""
    median_of_all: float
    """Over all seeds, those that never did counted as later than any other."""

    @property
    def reached(self) -> int:
        """Seeds that did."""
        return sum(math.isfinite(s) for s in self.steps)


def steps_to_sustain(steps: Values, success: Values, threshold: float) -> float:
    """Environment steps at the end of the first `WINDOW` evaluations whose mean is ≥ threshold."""
    if len(success) < WINDOW:
        return math.inf
    means = np.lib.stride_tricks.sliding_window_view(success, WINDOW).mean(-1)
    # a mean of twentieths may miss its threshold by rounding alone
    reached = np.flatnonzero(means >= threshold - 1e-9)
    return float(steps[reached[0] + WINDOW - 1]) if len(reached) else math.inf


def sustained(
    results: Results, environment: str, reward: str, threshold: float
) -> dict[tuple[str, str], Sustained]:
    """By (architecture, bonus), for every arm of a task that has curves."""
    arms = results.curves.get((environment, reward), {})
    return {arm: sustained_by(curves, threshold) for arm, curves in arms.items()}


def sustained_by(curves: Sequence[Curve], threshold: float) -> Sustained:
    """When the seeds of one arm came to hold a threshold."""
    return _summary([steps_to_sustain(*curve, threshold) for curve in curves])


def band(results: Results, environment: str, reward: str) -> pd.DataFrame:
    """Mean success over seeds, 95% t band: architecture, bonus, steps, mean, low, high, n.

    Runs that were evaluated at other steps than the rest are read off at the steps of the first.
    """
    rows = []
    for (architecture, bonus), curves in results.curves.get((environment, reward), {}).items():
        steps, matrix = aligned(curves)
        n = np.sum(np.isfinite(matrix), 0)
        mean = np.nanmean(matrix, 0)
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            # where one run alone was evaluated there is no spread, of which numpy warns
            warnings.simplefilter("ignore", RuntimeWarning)
            error = np.nanstd(matrix, 0, ddof=1) / np.sqrt(n) if len(matrix) > 1 else np.nan * mean
            half = special.stdtrit(np.maximum(n - 1, 1), (1 + LEVEL) / 2) * error
        names = {"architecture": architecture, "bonus": bonus}
        columns = {"steps": steps, "mean": mean, "low": mean - half, "high": mean + half, "n": n}
        rows.append(pd.DataFrame({**names, **columns}))
    if not rows:
        raise BadInput(f"{environment} / {reward} has no learning curves")
    return pd.concat(rows, ignore_index=True)


def still_rising(
    results: Results, environment: str, reward: str, architecture: str, bonus: str, least: float
) -> bool:
    """Whether an arm's success in the last fifth of its steps is above that of the fifth before.

    By a t interval over seeds, and by at least `least`; False without the curves of two seeds.
    """
    arms = results.curves.get((environment, reward), {})
    curves = arms.get((architecture, bonus), [])
    rises = [_rise(*curve) for curve in curves if len(curve[0]) > 1]
    if len(rises) < 2:
        return False
    mean = mean_interval(np.array(rises), (-1.0, 1.0))
    return mean.low > 0 and mean.estimate >= least


def _rise(steps: Values, success: Values) -> float:
    """Of the last fifth of the steps over that before; a score stands until the next one."""
    stands = np.append(np.diff(steps), np.diff(steps).mean())
    # half a gap of slack rounds the number of scores, as `tail_mean` does
    left = (steps[-1] + stands[-1] / 2 - steps) / (steps[-1] - steps[0] + stands[-1])
    last = (left < TAIL) | (steps == steps[-1])
    before = ~last & (left < 2 * TAIL)
    before[np.argmax(last) - 1] = True  # at least the score before
    late, early = (np.average(success[part], weights=stands[part]) for part in (last, before))
    return float(late - early)


def over_training(*arms: Sequence[Curve]) -> list[Values]:
    """By arm, every run's mean success over the steps that all runs were evaluated in."""
    curves = [curve for arm in arms for curve in arm]
    first = max((steps[0] for steps, _ in curves), default=0.0)
    last = min((steps[-1] for steps, _ in curves), default=0.0)
    if first >= last:
        return [np.empty(0) for _ in arms]
    grid = np.linspace(first, last, GRID)
    return [np.array([np.interp(grid, *curve).mean() for curve in arm]) for arm in arms]


def aligned(curves: Sequence[Curve]) -> tuple[Values, Values]:
    """Steps, and one row a run; before its first and after its last evaluation a run is NaN."""
    common = max((steps for steps, _ in curves), key=len)
    matrix = [np.interp(common, *curve, left=np.nan, right=np.nan) for curve in curves]
    return common, np.array(matrix)


def thinned(values: Values, points: int) -> Values:
    """At most so many, each the mean of neighbours."""
    starts, sizes = neighbours(len(values), points)
    return np.add.reduceat(values, starts) / sizes


def neighbours(rows: int, points: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in at most so many parts, as even as can be: where each begins, and how long it is."""
    points = min(points, rows)
    sizes = rows // points + (np.arange(points) < rows % points)
    return np.cumsum(sizes) - sizes, sizes


def _summary(steps: list[float]) -> Sustained:
    reached = [s for s in steps if math.isfinite(s)]
    middle = float(np.median(reached)) if reached else math.nan
    everyone = sorted(steps)
    # of an even number, the later of the middle two: half the seeds were there by then
    return Sustained(tuple(steps), middle, everyone[len(everyone) // 2])
