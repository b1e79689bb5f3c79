"""Our learner needs no more environment steps than a known one.

`results/sample_efficiency.csv` has the curves of sb3-contrib's RecurrentPPO with the same settings,
by `benchmarks/sample_efficiency.py`; ours is trained here again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sample_efficiency import SETTINGS, TASKS, ours

RECORDED = Path(__file__).parents[2] / "results" / "sample_efficiency.csv"


def areas(side: str, task: str, until: int) -> np.ndarray:
    """Mean success over the rollouts until then, of each recorded seed."""
    curves = pd.read_csv(RECORDED).query("side == @side and task == @task and steps <= @until")
    shares = curves.successes / curves.episodes.clip(lower=1)
    return shares.groupby(curves.seed).mean().to_numpy()


@pytest.mark.parametrize(
    ("task", "until"),
    [("TinyReproduce", 327_680), ("MemoryS7", 401_408), ("MysteryPath 4×4", 311_296)],
)
def test_the_recorded_curves_are_not_below_the_peers(task: str, until: int) -> None:
    mine, theirs = (areas(side, task, until) for side in ("clew", "sb3-contrib"))
    assert len(mine) == len(theirs) == 5
    assert mine.mean() > theirs.mean() - 0.03


@pytest.mark.slow
def test_todays_learner_is_not_below_the_peer() -> None:
    until = 2 * SETTINGS.period  # whole periods are trained
    rollouts: list[float] = []

    def write(steps: int, episodes: int, successes: int) -> None:
        rollouts.append(successes / max(episodes, 1))

    ours(TASKS["TinyReproduce"], seed=11, steps=until, write=write)
    assert len(rollouts) == until // SETTINGS.rollout
    theirs = areas("sb3-contrib", "TinyReproduce", until)
    assert np.mean(rollouts) > theirs.mean() - 3 * theirs.std(ddof=1)
