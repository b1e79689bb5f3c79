"""Seed bootstrap: draw every arm's seeds anew, with replacement, many times (scipy's).

A task is resampled once, for all statistics together. Its random stream is made from its own names:
the same runs give the same bytes, whatever else is in the table and in whichever order.
"""

from __future__ import annotations

import dataclasses
import warnings
import zlib
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

import numpy as np
from scipy import stats

from clew.analysis.stats.intervals import LEVEL
from clew.analysis.stats.task import Task, Values

RESAMPLES = 10_000
PERMUTATIONS = 20_000
"""As many as the study used of each."""
BATCH = 2000
"""Resamples that are held in memory together."""

Statistic = Callable[[Task], Values]
"""From a task whose arms are [..., seed] to [...]."""
K = TypeVar("K", bound=Hashable)


@dataclasses.dataclass(frozen=True, eq=False)
class Resampled:
    """One statistic over all resamples."""

    low: float
    high: float
    """The middle 95% of its values, as the study has it."""
    values: Values
    """[resample]."""


def generator(*key: object) -> np.random.Generator:
    """The random stream that belongs to these names."""
    return np.random.default_rng([zlib.crc32(str(part).encode()) for part in key])


def bootstrap(
    task: Task,
    statistics: Mapping[K, Statistic],
    resamples: int = RESAMPLES,
    method: str = "percentile",
) -> dict[K, Resampled]:
    """Every statistic with the seeds of each arm drawn anew: arms apart (stratified), unpaired.

    Arms with a single seed cannot be resampled; no statistic may ask for them.
    """
    arms = sorted(arm for arm, values in task.arms.items() if len(values) > 1)
    if not statistics:
        return {}

    def every(*samples: Values, axis: int = -1) -> Values:
        drawn = dataclasses.replace(task, arms=dict(zip(arms, samples, strict=True)))
        return np.stack([statistic(drawn) for statistic in statistics.values()])

    # a ratio may be infinite in some resamples, and then has no interval
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            [task.arms[arm] for arm in arms],
            every,
            n_resamples=resamples,
            batch=min(BATCH, resamples),
            vectorized=True,
            confidence_level=LEVEL,
            method=method,
            rng=generator("bootstrap", task.environment, task.reward),
        )
    bounds = found.confidence_interval
    return {
        name: Resampled(float(bounds.low[i]), float(bounds.high[i]), values)
        for i, (name, values) in enumerate(
            zip(statistics, found.bootstrap_distribution, strict=True)
        )
    }
