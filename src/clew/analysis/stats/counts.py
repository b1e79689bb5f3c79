"""How many seeds learnt the task: immune to any rescaling of success."""

from __future__ import annotations

import dataclasses

import numpy as np

from clew.analysis.names import LEARNT
from clew.analysis.stats.intervals import Interval, wilson
from clew.analysis.stats.task import Task


@dataclasses.dataclass(frozen=True)
class Count:
    """Seeds of one arm above the threshold."""

    architecture: str
    bonus: str
    learnt: int
    n: int
    share: Interval
    """Wilson's."""


def counts(task: Task, threshold: float = LEARNT) -> list[Count]:
    """Of every arm, the seeds whose tail mean exceeds `threshold`."""
    found = []
    for (architecture, bonus), values in task.arms.items():
        learnt = int(np.sum(values > threshold))
        share = wilson(learnt, len(values))
        found.append(Count(architecture, bonus, learnt, len(values), share))
    return found
