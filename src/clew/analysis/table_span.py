"""Scores that take up a small part of their range, on which a clear difference counts as none."""

from __future__ import annotations

import numpy as np

from clew.analysis.results import Results
from clew.analysis.score_range import FLAG
from clew.analysis.statistics import TaskStatistics
from clew.analysis.stats.intervals import LEVEL, holm
from clew.analysis.stats.task import tasks

SMALL = 0.1
"""Of the range."""
CLEAR = 0.5
"""Of what the scores use: a gain that is larger, and significant after Holm."""


def small_parts(results: Results) -> list[str]:
    """A caution for every task whose range may be too wide for what a bonus does."""
    notes = []
    for task in tasks(results.usual()):
        scores = np.concatenate([*task.arms.values()])
        low, high = scores.min(), scores.max()
        if high - low >= SMALL:
            continue
        tests = [*TaskStatistics(task).welch.values()]
        corrected = holm([test.p for test in tests])
        gains = [abs(test.interval.estimate) for test in tests]
        if any(
            p < 1 - LEVEL and gain > CLEAR * (high - low)
            for p, gain in zip(corrected, gains, strict=True)
        ):
            notes.append(
                f"Caution: scores of {task.label} use only {low:.2g} to {high:.2g} of their range: "
                "what a bonus does is clear, but small on it. If the task's scores cannot be so "
                f"far apart, state their range with {FLAG}."
            )
    return notes
