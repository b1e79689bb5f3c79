"""Scores at steps: which of them count, and that how often they were logged makes no gain."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.analysis import Statistics, answers
from clew.analysis.from_table import TableContents, read_table
from clew.analysis.table_over_time import tail_mean_by_steps
from clew.metrics import tail_mean

END = 200_000
Row = tuple[float, float]
"""A step and a score."""


def read(folder: Path, arms: dict[str, list[list[Row]]]) -> TableContents:
    """A table with one agent: by bonus, the curve of every seed."""
    path = folder / "results.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["environment", "agent", "bonus", "seed", "step", "success"])
        for bonus, curves in arms.items():
            for seed, curve in enumerate(curves):
                rows.writerows(["Maze", "GRU", bonus, seed, *row] for row in curve)
    return read_table(path)


def gain(table: TableContents) -> float:
    (answer,) = answers(Statistics(table.results, 50, 50))
    return answer.effect.interval.estimate


def rising(steps: np.ndarray, seed: int) -> list[Row]:
    """The same curve for every arm, wherever it is logged."""
    return [(float(s), 0.9 * s / END + seed / 1000) for s in steps]


def episodes(failure: int, seed: int) -> list[Row]:
    """One row an episode: success is as probable at every step, a failure takes `failure` steps."""
    rng, step, rows = np.random.default_rng(seed), 0, []
    while step < END:
        success = rng.random() < step / END
        step += 100 if success else failure
        rows.append((step, float(success)))
    return rows


@given(st.integers(1, 300), st.sampled_from([1, 7, 1000, 2048]), st.sampled_from([0, 1, 500]))
def test_of_evenly_spaced_scores_it_is_the_tail_mean(rows: int, gap: int, first: int) -> None:
    steps = first + gap * np.arange(rows, dtype=float)
    scores = np.random.default_rng(rows).random(rows)
    assert tail_mean_by_steps(steps, scores, first) == tail_mean(scores)


def test_how_often_a_curve_is_logged_makes_no_gain(tmp_path: Path) -> None:
    """Dense, then sparse; or from the middle on, sparse, then dense."""
    half, near = np.arange(0, END // 2, 100), 0.9 * END
    late = [np.arange(END // 2, END + 1, 2000), np.arange(near, END + 1, 100)]
    begun = np.arange(END // 2, near, 2000)
    plain = [rising(np.arange(2000, END + 1, 2000), s) for s in range(5)]
    for other in (np.concatenate([half, late[0]]), np.concatenate([begun, late[1]])):
        table = read(tmp_path, {"none": [rising(other, s) for s in range(5)], "rnd": plain})
        assert abs(gain(table)) < 0.01


def test_how_long_episodes_are_makes_no_gain(tmp_path: Path) -> None:
    """Rows of short failures crowd where there are failures: the last rows are all late."""
    arms = {b: [episodes(n, s) for s in range(5)] for b, n in (("none", 5), ("rnd", 100))}
    last = {b: np.mean([tail_mean(np.array(c)[:, 1]) for c in arm]) for b, arm in arms.items()}
    assert last["rnd"] - last["none"] > 0.08  # the last 20% of rows would say so
    assert abs(gain(read(tmp_path, arms))) < 0.03


def test_what_an_episode_weighs_does_not_depend_on_how_it_went() -> None:
    rng = np.random.default_rng(0)
    success = rng.random(200_000) < 0.3
    steps = np.cumsum(np.where(success, 100, 5)).astype(float)
    assert tail_mean_by_steps(steps, success.astype(float), 0) == pytest.approx(0.3, abs=0.01)


def test_arms_that_end_at_different_steps_are_named(tmp_path: Path) -> None:
    short = [rising(np.arange(0, END // 4 + 1, 1000), s) for s in range(3)]
    long = [rising(np.arange(0, END + 1, 4000), s) for s in range(3)]
    caution, *_ = read(tmp_path, {"none": short, "rnd": long}).notes
    assert caution.startswith(
        "Caution: the arms of Maze / native were not trained equally long: GRU / none until step "
        "50,000; GRU / RND until step 200,000. Each counts with the final 20% of its own."
    )
    nearly = [rising(np.arange(0, END * 0.97, 1000), s) for s in range(3)]
    assert read(tmp_path, {"none": nearly, "rnd": long}).notes == []


def test_single_scores_with_different_last_steps_are_named(tmp_path: Path) -> None:
    arms = {b: [[(s, i / 7 + 0.1)] for i in range(3)] for b, s in (("none", 1000.0), ("rnd", 9e3))}
    (caution,) = read(tmp_path, arms).notes
    assert "GRU / none until step 1,000; GRU / RND until step 9,000" in caution
    assert "final 20%" not in caution


def test_arms_that_are_scored_too_seldom_are_named(tmp_path: Path) -> None:
    seldom = [rising(np.arange(20_000, END + 1, 20_000), s) for s in range(3)]
    often = [rising(np.arange(1000, END + 1, 1000), s) for s in range(3)]
    (caution,) = read(tmp_path, {"none": seldom, "rnd": often}).notes
    assert "GRU / none every 20,000 steps; GRU / RND every 1,000 steps" in caution


@pytest.mark.parametrize("nothing", ["", "NaN", "nan", "null", "None"])
def test_a_row_without_a_score_is_left_out(tmp_path: Path, nothing: str) -> None:
    arms = {b: [rising(np.arange(0, END, 1000), s) for s in range(3)] for b in ("none", "rnd")}
    usual = read(tmp_path, arms)
    path = tmp_path / "results.csv"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"Maze,GRU,none,0,500,{nothing}\n")
    found = read_table(path)
    assert found.results.evaluations.equals(usual.results.evaluations)
    assert found.results.runs.equals(usual.results.runs)


def test_scores_that_end_before_the_rows_are_told(tmp_path: Path) -> None:
    """They end where the last score is, also for whether arms were trained equally long."""
    steps = np.arange(0, END + 1, 2000)
    whole = [rising(steps, s) for s in range(5)]
    half = [(t, x if t <= END / 2 else float("nan")) for t, x in whole[0]]
    caution, *others = read(tmp_path, {"none": [half, *whole[1:]], "rnd": whole}).notes
    assert "GRU / none until step 100,000 to 200,000" in caution
    assert others == [
        "Caution: a run has no score in the last rows: in Maze / native / GRU / none, seed 0, "
        "scores end at step 100,000 of 200,000. What was scored counts; if a run diverged or "
        "crashed, say so in a column status."
    ]


def test_arms_whose_steps_were_counted_on_are_told(tmp_path: Path) -> None:
    """Those of a second part of training: their own beginning is not the task's."""
    steps = np.arange(0, END + 1, 2000)
    arm = [rising(steps, s) for s in range(5)]
    later = [[(t + END / 2, x) for t, x in curve] for curve in arm]
    told = read(tmp_path, {"none": arm, "rnd": later}).notes
    assert "GRU / none at step 0; GRU / RND at step 100,000" in told[1]
    near = [[(t + END / 50, x) for t, x in curve] for curve in arm]
    assert read(tmp_path, {"none": arm, "rnd": near}).notes == []
