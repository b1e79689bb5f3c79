"""A sentence that explains, for every kind of table that cannot be analysed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from clew.analysis import (
    Results,
    Statistics,
    Task,
    TaskStatistics,
    published,
    task,
    tasks,
    verdicts,
)
from clew.analysis.stats.interaction import three_way, two_way
from clew.validate import BadInput

RUN = {
    "environment": "world", "reward": "sparse", "architecture": "GRU", "bonus": "none",
    "seed": 0, "tail_mean": 0.5, "status": "finished",
}  # fmt: skip


def frame(*changes: dict) -> pd.DataFrame:
    return pd.DataFrame([{**RUN, **change} for change in changes])


def grid(value: float | None = None, seeds: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return frame(
        *(
            {"architecture": a, "bonus": b, "seed": s, "tail_mean": rng.uniform() if value is None else value}  # noqa: E501
            for a in ("GRU", "LSTM")
            for b in ("none", "e3b")
            for s in range(seeds)
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (frame({}).iloc[:0], "the table is empty"),
        (frame({}, {}), "a run is there twice: world / sparse / GRU / none, seed 0"),
        (frame({"tail_mean": np.nan}), "its status is 'diverged'"),
        (frame({"tail_mean": 1.2}), "no success rate from 0 to 1"),
        (frame({"status": "done"}), "unknown status 'done'; choose 'diverged', 'failed'"),
        (frame({"seed": 0.5}), "seed=0.5 is not valid"),
        (frame({"tail_mean": "much"}), "a number is expected"),
        (frame({}).drop(columns="bonus"), "no column 'bonus'"),
        (frame({}).rename(columns={"tail_mean": "tail_means"}), "did you mean 'tail_means'?"),
        ([RUN], "must be a pandas DataFrame, not list"),
    ],
)
def test_tables_that_are_refused(runs: pd.DataFrame, words: str) -> None:
    with pytest.raises(BadInput) as error:
        Results.from_frames(runs)
    assert words in str(error.value)


def test_curves_of_an_unknown_run_are_refused() -> None:
    curve = frame({"seed": 7}).assign(steps=1.0, success=0.5)
    with pytest.raises(BadInput, match="not in the table of runs: world / sparse / GRU / none, se"):
        Results.from_frames(frame({}), curve)


def test_several_coefficients_in_one_arm_must_be_told_apart() -> None:
    runs = pd.concat([grid().assign(bonus_coef=0.03), grid().assign(bonus_coef=0.1)])
    with pytest.raises(BadInput, match=r"several coefficients \(0.03, 0.1\)"):
        tasks(Results.from_frames(runs))
    assert len(tasks(Results.from_frames(runs).only(bonus_coef=0.03))) == 1
    with pytest.raises(BadInput, match="unknown column"):
        Results.from_frames(runs).only(colour="red")


def test_a_task_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="did you mean 'TinyReproduce'"):
        task(
            Results.from_frames(frame({"environment": "TinyReproduce"})), "TinyReproduse", "sparse"
        )
    with pytest.raises(BadInput, match="has no finished run"):
        task(Results.from_frames(frame({})), "world", "dense")


def test_mismatched_suites_are_explained() -> None:
    only_none = tasks(Results.from_frames(frame({"seed": 1}, {"seed": 2})))[0]
    assert only_none.bonuses == ()
    mpg, s13 = tasks(published())
    with pytest.raises(BadInput, match="two rewards of one environment"):
        three_way([mpg, s13], "e3b")
    with pytest.raises(BadInput, match="there are none"):
        two_way(only_none, "e3b")
    no_memory = {("Memoryless", b): np.array([0.1, 0.2]) for b in ("none", "e3b")}
    control_alone = TaskStatistics(Task("world", "sparse", no_memory))
    assert "needs two architectures" in control_alone.spread("e3b").delta.why_not
    assert control_alone.iqm["e3b"].why_not == "there is no run"
    with pytest.raises(BadInput, match="unknown bonus 'noveld'; choose 'e3b'"):
        control_alone.spread("noveld")


def test_one_seed_gives_estimates_without_intervals() -> None:
    (one,) = Statistics(Results.from_frames(grid(seeds=1))).tasks
    assert "one seed" in one.spread("e3b").delta.why_not
    assert "one seed" in one.interactions["e3b"].anova.why_not
    for gain in one.gains:
        assert np.isfinite(gain.interval.estimate)
        assert not gain.interval.known
    (said,) = verdicts(Statistics(Results.from_frames(grid(seeds=1))))
    assert said.pattern == "inconclusive"
    assert "cannot be judged: an arm with one seed" in said.sentence


def test_all_equal_values_stand() -> None:
    (flat,) = Statistics(Results.from_frames(grid(0.25))).tasks
    assert "equal" in flat.interactions["e3b"].anova.why_not
    assert np.isnan(flat.interactions["e3b"].p_permutation)
    assert "nothing can be divided" in flat.spread("e3b").ratio.why_not
    (said,) = verdicts(Statistics(Results.from_frames(grid(0.25))))
    assert said.pattern == "null"


def test_two_seeds_are_not_enough_for_a_verdict() -> None:
    (said,) = verdicts(Statistics(Results.from_frames(grid(seeds=2))))
    assert said.pattern == "inconclusive"
    assert "an arm has 2 seeds, and 3 are the least" in said.sentence


def test_the_analysis_does_not_import_jax() -> None:
    code = "import sys, clew.analysis; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
