"""Seed bootstrap: draw an arm's seeds anew, with replacement, many times.

Every arm has a random stream of its own, made from its names. Hence the same input gives the same
bytes, whatever else is in the table and in whichever order.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from clew.analysis.stats.task import Task, Values

RESAMPLES = 10_000
PERMUTATIONS = 20_000
"""As many as the study used of each."""


def generator(*key: object) -> np.random.Generator:
    """The stream that belongs to these names."""
    return np.random.default_rng([zlib.crc32(str(part).encode()) for part in key])


def draws(values: Values, *key: object, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """[resample, seed]: the arm's values, drawn anew."""
    n = len(values)
    return values[generator("bootstrap", *key).integers(0, n, (resamples, n))]


def mean_draws(task: Task, architecture: str, bonus: str, resamples: int = RESAMPLES) -> Values:
    """[resample]: an arm's mean, seeds drawn anew."""
    values = task.arms[architecture, bonus]
    return draws(values, *task.key(architecture, bonus), resamples=resamples).mean(1)


def column_draws(
    task: Task, bonus: str, architectures: tuple[str, ...], resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """[resample, architecture]: the means of one bonus's arms."""
    return np.stack([mean_draws(task, a, bonus, resamples) for a in architectures], -1)
