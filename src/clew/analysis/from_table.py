"""From a table of anyone's results to the tables that the analysis reads.

A row is a run with its final score, or a score at a step of a run: then a run's value is the mean
over the final 20% of its steps, and its curve is kept.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pandas as pd

from clew.analysis.names import BONUSES, GIVEN, MEMORYLESS, NONE, task_label
from clew.analysis.results import EVALUATIONS, RUN, STATUSES, TASK, Results, describe
from clew.analysis.score_range import Ranges, shares
from clew.analysis.table_columns import named_columns
from clew.analysis.table_file import read_rows
from clew.metrics import TAIL, tail_mean
from clew.validate import BadInput, listing, one_of

OWN_REWARD = "native"
"""The reward variant where no column names one: the environment's own."""
NO_BONUS = {"", "none", "no", "off", "false", "nan", "null", "0", "0.0"}
DONE = {"", "done", "ok", "complete", "completed", "success", "true"}
"""What other programs call finished."""
MOST_LISTED = 8
ADVICE = {
    "seed": "number the runs of an arm 0, 1, 2, …",
    "score": "write one such as 0.25 or, if the run failed, say so in a column status",
    **dict.fromkeys(("steps", "score_min", "score_max"), "write one such as 100000"),
}
"""What to do about a cell that is no number."""


@dataclasses.dataclass(frozen=True)
class TableContents:
    """What a table holds, ready for the report."""

    results: Results
    notes: list[str]
    """What a reader must know: which columns were read as what, and on which scale scores are."""


def read_table(
    path: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    ranges: Ranges | None = None,
) -> TableContents:
    """Read a .csv, .tsv, .jsonl or .parquet file.

    `baseline` is the bonus that means none, `lower` and `upper` are the agents that are controls,
    `ranges` are the scores that there can be, by environment (0 to 1 if not given).
    """
    path, where = Path(path), repr(str(path))
    frame, notes = named_columns(read_rows(path), where)
    rows = _checked(frame, where, baseline)
    rows["score"], scale = shares(rows, where, ranges or {})
    many = bool(rows.duplicated(list(RUN)).any())
    runs, evaluations = _over_time(rows, where) if many else (_final(rows, where), None)
    _check_comparable(runs, where)
    agents = list(runs["architecture"].unique())
    results = Results.from_frames(
        runs,
        evaluations,
        lower=_control("lower", lower, MEMORYLESS, agents),
        upper=_control("upper", upper, GIVEN, agents),
    )
    if results.lower == results.upper:
        raise BadInput(f"lower and upper are both {results.lower!r}; name two different agents")
    ends = _uneven_ends(runs) if many else []
    return TableContents(results, [*notes, *scale, *ends])


def _checked(frame: pd.DataFrame, where: str, baseline: str | None) -> pd.DataFrame:
    """Words as the analysis has them, numbers as numbers; a mistake is told with its row."""
    rows = frame.copy()
    for column, word in (("environment", "environment"), ("architecture", "agent")):
        empty = rows[rows[column] == ""]
        if len(empty):
            raise BadInput(f"{where}, row {empty.index[0]}: the {word} is empty; name it")
    rows["reward"] = _text(rows, "reward").replace("", OWN_REWARD)
    rows["bonus"] = _bonuses(_text(rows, "bonus"), where, baseline)
    rows["status"] = _statuses(_text(rows, "status"), where)
    finished = rows["status"] == "finished"
    for column in [c for c in map(str, rows) if c not in (*RUN[:4], "status")]:
        numbers = _numbers(rows[column])
        wrong = rows[column][numbers.isin([np.inf]) & (finished | (column == "seed"))]
        if len(wrong) and column in ADVICE:
            said = f"{column}={wrong.iloc[0]!r} is no number; {ADVICE[column]}"
            raise BadInput(f"{where}, row {wrong.index[0]}: {said}")
        # an optional column of something else is none of ours
        rows[column] = np.nan if len(wrong) else numbers.where(np.isfinite(numbers))
    wrong = frame["seed"][~(rows["seed"] % 1 == 0)]
    if len(wrong):
        said = f"seed={wrong.iloc[0]!r} is no whole number; {ADVICE['seed']}"
        raise BadInput(f"{where}, row {wrong.index[0]}: {said}")
    rows["bonus_coef"] = rows["bonus_coef"].fillna(0.0) if "bonus_coef" in rows else 0.0
    rows["score"] = rows["score"].where(finished)
    return rows


def _text(rows: pd.DataFrame, column: str) -> pd.Series:
    return rows[column] if column in rows else pd.Series("", rows.index, dtype=object)


def _numbers(column: pd.Series) -> pd.Series:
    """NaN where a cell is empty, infinite where it is no finite number."""

    def number(text: str) -> float:
        try:
            found = float(text or "nan")
        except ValueError:
            return np.inf
        return found if np.isfinite(found) or not text else np.inf

    # pandas' own conversion may miss the last bit
    return pd.Series([number(text) for text in column], column.index, dtype=float)


def _bonuses(column: pd.Series, where: str, baseline: str | None) -> pd.Series:
    """The column with `NONE` where there was no bonus."""
    found = sorted(set(column))
    values = listing(found[:MOST_LISTED]) + ", …" * (len(found) > MOST_LISTED)
    none = column.str.lower().isin(NO_BONUS)
    if baseline is not None and baseline.lower() not in NO_BONUS:
        named = column == baseline
        if named.any() and none.any():
            raise BadInput(
                f"{where} has bonuses {baseline!r} and {column[none].iloc[0]!r}, and both would "
                "mean none; leave --baseline out, or those rows"
            )
        none = named
    if not none.any():
        named = f"no bonus is called {baseline!r}" if baseline else "no run is without a bonus"
        raise BadInput(
            f"{where}: {named}, and gains are measured against such runs; "
            f"say with --baseline which of {values} means none"
        )
    known = {bonus.lower(): bonus for bonus in BONUSES}
    return column.mask(none, NONE).map(lambda bonus: known.get(str(bonus).lower(), bonus))


def _statuses(column: pd.Series, where: str) -> pd.Series:
    status = column.str.lower()
    status = status.mask(status.isin(DONE), "finished").replace("crashed", "failed")
    wrong = column[~status.isin(STATUSES)]
    if len(wrong):
        raise BadInput(
            f"{where}, row {wrong.index[0]}: status={wrong.iloc[0]!r} is not valid; choose "
            f"{listing(STATUSES)}"
        )
    return status


def _final(rows: pd.DataFrame, where: str) -> pd.DataFrame:
    """One row a run."""
    without = rows[rows["score"].isna() & (rows["status"] == "finished")]
    if len(without):
        raise BadInput(
            f"{where}, row {without.index[0]}: {describe(without.iloc[0])} has no score; "
            "if the run failed, say so in a column status: failed, diverged, unfinished, running "
            "or missing"
        )
    return rows.rename(columns={"score": "tail_mean"}).reset_index(drop=True)


def _over_time(rows: pd.DataFrame, where: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of runs and the curves; rows of a run at one step are averaged."""
    if "steps" not in rows:
        twice = rows[rows.duplicated(list(RUN))]
        raise BadInput(
            f"{where}, row {twice.index[0]}: {describe(twice.iloc[0])} is there twice; give every "
            "run a seed of its own, or add a column step if scores are over time"
        )
    if rows["steps"].isna().any():
        line = rows.index[rows["steps"].isna()][0]
        raise BadInput(
            f"{where}, row {line} has no step, and other rows of the table have one; give every "
            "row its step, or keep final scores in a table of their own"
        )
    keys = list(RUN)
    last = rows.sort_values("steps", kind="stable").groupby(keys, sort=True).tail(1)
    runs = last[[*keys, "steps", "status"]].reset_index(drop=True)
    done = pd.MultiIndex.from_frame(runs[runs["status"] == "finished"][keys])
    optional = [c for c in EVALUATIONS if c in rows and c not in ("steps", "success")]
    whole = pd.MultiIndex.from_frame(rows[keys]).isin(done)
    scored = rows[rows["score"].notna() & whole].rename(columns={"score": "success"})
    curves = scored.groupby([*keys, "steps"], sort=True)[["success", *optional]].mean()
    curves = curves.reset_index()
    found = curves.groupby(keys, sort=True)["success"].agg(
        tail_mean=lambda scores: tail_mean(scores.to_numpy(float)), final_success="last"
    )
    runs = runs.merge(found.reset_index(), on=keys, how="left")
    without = runs[runs["tail_mean"].isna() & (runs["status"] == "finished")]
    if len(without):
        raise BadInput(f"{where}: {describe(without.iloc[0])} has no score in any of its rows")
    return runs, curves


def _uneven_ends(runs: pd.DataFrame) -> list[str]:
    """Where runs of a task were not trained equally long."""
    notes = []
    for task, group in runs[runs["status"] == "finished"].groupby(list(TASK), sort=True):
        first, last = group["steps"].min(), group["steps"].max()
        if first < 0.9 * last:
            notes.append(
                f"The runs of {task_label(*map(str, task))} end between {first:,.0f} and "
                f"{last:,.0f} steps; each counts with the final {TAIL:.0%} of its own."
            )
    return notes


def _check_comparable(runs: pd.DataFrame, where: str) -> None:
    agents = runs["architecture"].unique()
    if len(agents) == 1 and set(runs["bonus"]) == {NONE}:
        raise BadInput(
            f"{where} has one agent ({agents[0]}) and no bonus, so there is nothing to compare; "
            "add its runs with a bonus and a column bonus, or another agent"
        )


def _control(flag: str, name: str | None, usual: str, agents: list[str]) -> str:
    if name is None:
        return next((agent for agent in agents if agent.lower() == usual.lower()), usual)
    return one_of(flag, name, agents)
