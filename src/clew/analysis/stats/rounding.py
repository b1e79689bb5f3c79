"""What rounding leaves open: the values a statistic can have had before its data were rounded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from clew.analysis.stats.resample import generator
from clew.analysis.stats.task import Task

DRAWS = 400


def unrounded(task: Task, draw: int, decimals: int = 2) -> Task:
    """The task with every tail mean put somewhere within its rounding, but inside 0 to 1."""
    half = 0.5 * 10.0**-decimals
    rng = generator("unrounded", task.environment, task.reward, draw)
    arms = {
        arm: np.sort(np.clip(v + rng.uniform(-half, half, v.shape), 0, 1))
        for arm, v in sorted(task.arms.items())
    }
    return dataclasses.replace(task, arms=arms)


def rounding_range(
    statistic: Callable[[Task], float], task: Task, decimals: int = 2, draws: int = DRAWS
) -> tuple[float, float]:
    """The least and the largest that `statistic` comes to over many such tasks, and as rounded.

    Errors of rounding are independent and many, so this is far narrower than the worst case, in
    which all of them conspire.
    """
    found = [statistic(unrounded(task, i, decimals)) for i in range(draws)]
    found.append(statistic(task))
    return min(found), max(found)
