"""What is said of a table whose range, bonuses or runs may be others than they look."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from clew.analysis.from_table import TableContents, read_table
from clew.analysis.score_range import Range, Ranges
from clew.validate import BadInput

ARMS = {"none": (0.21, 0.25, 0.22), "rnd": (0.51, 0.55, 0.52)}
PER_STEP = {"none": (0.0105, 0.0095, 0.0102), "rnd": (0.0301, 0.0310, 0.0295)}
CARTPOLE = {"none": (19.2, 20.2, 19.6), "rnd": (29.1, 30.0, 29.4)}


def rows(scores: Mapping[str, tuple[float, ...]] = ARMS, **named: str) -> pd.DataFrame:
    """One agent; `named` are other names for columns."""
    table = [
        ("Maze", "GRU", bonus, seed, score)
        for bonus, values in scores.items()
        for seed, score in enumerate(values)
    ]
    columns = ["environment", "agent", "bonus", "seed", "score"]
    return pd.DataFrame(table, columns=columns).rename(columns=named)


def cautions(found: TableContents) -> list[str]:
    return [note for note in found.notes if note.startswith("Caution")]


@pytest.mark.parametrize("name", ["mean_reward", "return", "charts/episodic_return"])
def test_that_a_range_was_assumed_for_returns_is_said(name: str) -> None:
    table = rows(score=name)
    said = (
        f"No range was given for {name!r}: as it lies between 0 and 1, it was taken for a share of "
        "that. If the task's returns can be others, say which with --score-range LOW HIGH."
    )
    assert read_table(table).notes[-1] == said
    assert said not in read_table(table, ranges=(0, 1)).notes
    assert said not in read_table(table.assign(score_min=0, score_max=1)).notes


@pytest.mark.parametrize("name", ["score", "success", "success_rate", "tail_mean"])
def test_a_share_needs_no_range(name: str) -> None:
    assert not any("range" in note for note in read_table(rows(score=name)).notes)


def test_a_clear_difference_on_a_small_part_of_the_range_is_told() -> None:
    (caution,) = cautions(read_table(rows(PER_STEP, score="mean_reward")))
    assert caution == (
        "Caution: scores of Maze / native use only 0.0095 to 0.031 of their range: what a bonus "
        "does is clear, but small on it. If the task's scores cannot be so far apart, state their "
        "range with --score-range."
    )
    (caution,) = cautions(read_table(rows(CARTPOLE, score="return"), ranges=(0, 500)))
    assert "use only 0.038 to 0.06 of their range" in caution
    # what has the range 0 to 1 by what it is, uses more of it, or may be chance
    assert cautions(read_table(rows(PER_STEP, score="success"))) == []
    assert cautions(read_table(rows(CARTPOLE, score="return"), ranges=(15, 40))) == []
    chance = {"none": (0.011, 0.012, 0.013), "rnd": (0.012, 0.0135, 0.0115)}
    assert cautions(read_table(rows(chance))) == []


def test_a_range_from_python_is_checked_and_may_be_a_pair() -> None:
    table = rows(CARTPOLE)
    by_name, pair = read_table(table, ranges={None: (0, 100)}), read_table(table, ranges=(0, 100))
    assert pair.results.runs.equals(by_name.results.runs)
    assert pair.results.runs["tail_mean"].max() == 0.3
    wrong: list[Ranges | Range] = [
        {None: (500, 0)}, (500, 0), {"Maze": (0, float("inf"))}, (0, 1, 2), 500, {None: ("a", "b")},
    ]  # type: ignore[list-item]  # fmt: skip
    for ranges in wrong:
        with pytest.raises(BadInput, match=r"ranges=.* is not valid; give the least and the larg"):
            read_table(table, ranges=ranges)


def test_a_frame_is_read_like_its_file(tmp_path: Path) -> None:
    table = rows(CARTPOLE)[::-1]
    table.to_csv(tmp_path / "x.csv", index=False)
    frame, file = (read_table(t, ranges=(0, 100)) for t in (table, tmp_path / "x.csv"))
    pd.testing.assert_frame_equal(frame.results.runs, file.results.runs)
    assert frame.notes == file.notes
    of_categories = read_table(table.astype({"bonus": "category"}), ranges=(0, 100))
    pd.testing.assert_frame_equal(of_categories.results.runs, file.results.runs)
    with pytest.raises(BadInput, match=r"^the DataFrame, row 1: score=29\.4 is not from 0"):
        read_table(table)
    with pytest.raises(BadInput, match=r"^the DataFrame has no rows below its header; add one"):
        read_table(table[:0])
    assert list(table.columns) == list(rows())  # nothing was written into it


def test_a_switch_of_the_bonus_is_to_be_called_bonus() -> None:
    table = rows(bonus="use_rnd").replace({"use_rnd": {"none": False, "rnd": True}})
    with pytest.raises(BadInput) as error:
        read_table(table)
    assert str(error.value).endswith(
        "its rows differ in 'use_rnd' ('False' and 'True'): if 'use_rnd' says which runs had a "
        "bonus, call it 'bonus'; or else keep the rows of one value, or make it part of the name "
        "in 'agent', such as 'GRU False'"
    )
    over_time = pd.concat([table.assign(step=2 * t + table["use_rnd"]) for t in range(3)])
    with pytest.raises(BadInput, match="nothing to compare; if 'use_rnd' says which runs had a b"):
        read_table(over_time)
    read_table(table.rename(columns={"use_rnd": "bonus"}))


def test_coefficients_without_a_bonus_are_to_be_called_bonus() -> None:
    table = rows(bonus="bonus_coef").replace({"bonus_coef": {"none": 0.0, "rnd": 0.5}})
    way = "if 'bonus_coef' says which runs had a bonus, call it 'bonus'"
    with pytest.raises(BadInput, match=f"has one agent .*nothing to compare; {way}, or add its"):
        read_table(table)
    both = pd.concat([table, table.assign(agent="LSTM")])
    said = f"The table has no column 'bonus', so no bonus can be judged: {way}."
    assert said in read_table(both).notes


def test_without_a_column_of_bonuses_its_absence_is_told() -> None:
    table = rows(bonus="note")
    table["agent"] = table.pop("note").map({"none": "GRU", "rnd": "GRU+RND"})
    assert read_table(table).notes == [
        "The table has no column 'bonus', so no bonus can be judged: add one with the name of each "
        "run's bonus, and none where there was none; 'GRU+RND' would be the agent 'GRU' with the "
        "bonus 'RND'."
    ]
    other = table.replace({"agent": {"GRU+RND": "GRU2"}})
    assert read_table(other).notes[0].endswith("and none where there was none.")
    assert read_table(rows()).notes == []


def test_of_a_status_a_row_the_last_is_the_runs() -> None:
    table = pd.concat(
        [
            rows().assign(step=t, status="finished" if t == 20 else "running")
            for t in reversed(range(1, 21))
        ]
    )
    found = read_table(table).results
    assert set(found.runs["status"]) == {"finished"}
    assert len(found.evaluations) == len(table)
    last = (table["step"] == 20) & (table["bonus"] == "rnd") & (table["seed"] == 1)
    crashed = read_table(table.assign(status=table["status"].mask(last, "crashed"))).results
    assert (crashed.runs["status"] == "failed").sum() == 1
    assert len(crashed.evaluations) == len(table) - 20
    # what a finished run says is a number, in all of its rows
    early = (table["step"] == 1) & (table["seed"] == 1)
    wrong = table.assign(score=table["score"].astype(object).mask(early, "high"))
    with pytest.raises(BadInput, match="score='high' is no number"):
        read_table(wrong)
