"""From a table of anyone's results to the tables that the analysis reads.

A row is a run with its final score, or a score at a step of a run: then a run's value is the mean
over the final 20% of its steps, and its curve is kept.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pandas as pd

from clew.analysis.names import GIVEN, MEMORYLESS, NONE
from clew.analysis.results import RUN, Results, describe
from clew.analysis.score_range import Range, Ranges, assumed, checked_ranges, shares
from clew.analysis.swept import swept
from clew.analysis.table_bonus import call_it_bonus, no_column, switches
from clew.analysis.table_cautions import alike_names, cautions
from clew.analysis.table_cells import checked, in_percent, refuse_small_percentages
from clew.analysis.table_columns import RETURNS, SHARES, named_columns, plain_name
from clew.analysis.table_file import read_rows
from clew.analysis.table_over_time import over_time
from clew.analysis.table_span import small_parts
from clew.analysis.table_twice import mixed, twice
from clew.validate import BadInput, one_of


@dataclasses.dataclass(frozen=True)
class TableContents:
    """What a table holds, ready for the report."""

    results: Results
    notes: list[str]
    """What a reader must know: first what makes the answer doubtful, each beginning with "Caution";
    then which columns were read as what, and on which scale scores are."""


def read_table(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    baseline: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    ranges: Ranges | Range | None = None,
) -> TableContents:
    """Read a .csv, .tsv, .jsonl or .parquet file, or a DataFrame with such columns.

    `baseline` is the bonus that means none, `lower` and `upper` are the agents that are controls,
    `ranges` are the scores that there can be: a pair, or one by environment (0 to 1 if not given).
    """
    ranges = checked_ranges(ranges)
    source = source if isinstance(source, pd.DataFrame) else Path(source)
    where = repr(str(source)) if isinstance(source, Path) else "the DataFrame"
    table = read_rows(source, where)
    columns = named_columns(table, where)
    percent = in_percent(columns.frame, columns.called) and "score_min" not in columns.frame
    rows, notes = checked(columns.frame, where, baseline, columns.called)
    if percent and not ranges:
        refuse_small_percentages(rows["score"], columns.called["score"], where)
    if percent:
        ranges.setdefault(None, (0.0, 100.0))
    rows["score"], scale = shares(rows, where, ranges)
    named = plain_name(columns.called["score"])
    if named in RETURNS and not ranges and "score_min" not in rows:
        scale = [assumed(columns.called["score"])]
    many = bool(rows.duplicated(list(RUN)).any())
    if many and not _has_steps(rows):
        raise twice(table, rows, columns, where)
    runs, curves = over_time(rows, where) if many else (_final(rows, where), None)
    _check_comparable(runs, where, switches(table, columns))
    doubts = [*cautions(runs, curves), *(mixed(table, rows, columns) if many else [])]
    agents = list(runs["architecture"].unique())
    results = Results.from_frames(
        runs,
        curves,
        lower=_control("lower", lower, MEMORYLESS, agents),
        upper=_control("upper", upper, GIVEN, agents),
    )
    if results.lower == results.upper:
        raise BadInput(f"lower and upper are both {results.lower!r}; name two different agents")
    single = not many and columns.called["score"] != "tail_mean"
    results = dataclasses.replace(results, single_scores=single)
    if named not in SHARES:
        doubts += small_parts(results)
    told = [
        *no_column(table, columns, agents),
        *columns.notes,
        *notes,
        *swept(results),
        *alike_names(runs),
        *scale,
    ]
    return TableContents(results, [*doubts, *told])


def _has_steps(rows: pd.DataFrame) -> bool:
    """Whether any run has rows at two different steps."""
    if "steps" not in rows:
        return False
    return bool((rows.groupby(list(RUN))["steps"].nunique(dropna=False) > 1).any())


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


def _check_comparable(runs: pd.DataFrame, where: str, unread: list[str]) -> None:
    agents = runs["architecture"].unique()
    if len(agents) == 1 and set(runs["bonus"]) == {NONE}:
        way = f"{call_it_bonus(unread)}, or " if unread else ""
        raise BadInput(
            f"{where} has one agent ({agents[0]}) and no bonus, so there is nothing to compare; "
            f"{way}add its runs with a bonus and a column bonus, or another agent"
        )


def _control(flag: str, name: str | None, usual: str, agents: list[str]) -> str:
    if name is None:
        return next((agent for agent in agents if agent.lower() == usual.lower()), usual)
    return one_of(flag, name, agents)
