"""What the study's statistics may have been before its seeds were rounded for print."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew.analysis import Task
from clew.analysis.published import DECIMALS
from clew.analysis.stats.bootstrap import generator
from clew.analysis.stats.task import rescaled


def rounding_range(
    statistic: Callable[[Task], float], task: Task, draws: int = 400
) -> tuple[float, float]:
    """The least and the largest that `statistic` may have been before the seeds were rounded.

    Every tail mean is put somewhere within its rounding, but inside 0 to 1, again and again. Errors
    of rounding are independent and many, so this is far narrower than the worst case, in which all
    of them push the same way.
    """
    moved = [_unrounded(task, draw) for draw in range(draws)]
    found = [statistic(each) for each in (task, *moved)]
    return min(found), max(found)


def _unrounded(task: Task, draw: int) -> Task:
    half = 0.5 * 10.0**-DECIMALS
    rng = generator("unrounded", task.environment, task.reward, draw)
    return rescaled(task, lambda v: np.sort(np.clip(v + rng.uniform(-half, half, v.shape), 0, 1)))
