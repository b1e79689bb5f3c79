"""What the curves say: how soon a threshold is sustained, and bands over seeds."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pandas as pd
from scipy import stats

from clew.analysis.results import ARM, RUN, Results
from clew.analysis.stats.intervals import mean_interval
from clew.analysis.stats.task import Values
from clew.validate import BadInput

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
    found: dict[tuple[str, str], list[float]] = {}
    for run, curve in _curves(results, environment, reward).groupby(list(RUN), sort=True):
        arm = (str(run[2]), str(run[3]))
        at = steps_to_sustain(
            curve["steps"].to_numpy(float), curve["success"].to_numpy(float), threshold
        )
        found.setdefault(arm, []).append(at)
    return {arm: _summary(steps) for arm, steps in found.items()}


def band(results: Results, environment: str, reward: str) -> pd.DataFrame:
    """Mean success over seeds, 95% t band: architecture, bonus, steps, mean, low, high, n.

    Runs that were evaluated at other steps than the rest are read off at the steps of the first.
    """
    rows = []
    for arm, curves in _curves(results, environment, reward).groupby(list(ARM), sort=True):
        steps, matrix = aligned(curves, "success")
        n = np.sum(np.isfinite(matrix), 0)
        mean = np.nanmean(matrix, 0)
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            # where one run alone was evaluated there is no spread, of which numpy warns
            warnings.simplefilter("ignore", RuntimeWarning)
            error = np.nanstd(matrix, 0, ddof=1) / np.sqrt(n) if len(matrix) > 1 else np.nan * mean
            half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * error
        names = {"architecture": arm[2], "bonus": arm[3]}
        columns = {"steps": steps, "mean": mean, "low": mean - half, "high": mean + half, "n": n}
        rows.append(pd.DataFrame({**names, **columns}))
    if not rows:
        raise BadInput(f"{environment} / {reward} has no learning curves")
    return pd.concat(rows, ignore_index=True)


def still_rising(
    results: Results, environment: str, reward: str, architecture: str, bonus: str
) -> bool:
    """Whether an arm's success in the last fifth of training is above that of the fifth before.

    By a t interval over seeds; False without the curves of two seeds.
    """
    curves = _curves(results, environment, reward)
    mine = curves[(curves["architecture"] == architecture) & (curves["bonus"] == bonus)]
    rises = [
        _rise(curve["success"].to_numpy(float))
        for _, curve in mine.groupby(list(RUN), sort=True)
        if len(curve) > 1
    ]
    return len(rises) > 1 and mean_interval(np.array(rises), (-1.0, 1.0)).low > 0


def _rise(success: Values) -> float:
    fifth = max(1, len(success) // 5)
    return float(success[-fifth:].mean() - success[-2 * fifth : -fifth].mean())


def aligned(curves: pd.DataFrame, value: str) -> tuple[Values, Values]:
    """Steps, and one row a run; before its first and after its last evaluation a run is NaN."""
    at = list(curves.groupby(list(RUN), sort=True).indices.values())
    steps, values = (curves[column].to_numpy(float) for column in ("steps", value))
    common = steps[max(at, key=len)]
    matrix = [np.interp(common, steps[i], values[i], left=np.nan, right=np.nan) for i in at]
    return common, np.array(matrix)


def _curves(results: Results, environment: str, reward: str) -> pd.DataFrame:
    return results.curves.get((environment, reward), results.evaluations[:0])


def _summary(steps: list[float]) -> Sustained:
    reached = [s for s in steps if math.isfinite(s)]
    middle = float(np.median(reached)) if reached else math.nan
    everyone = sorted(steps)
    # of an even number, the later of the middle two: half the seeds were there by then
    return Sustained(tuple(steps), middle, everyone[len(everyone) // 2])
