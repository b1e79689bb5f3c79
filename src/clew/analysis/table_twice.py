"""Rows of a table that claim to be the same run, and in which of its columns they differ."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.results import RUN, describe
from clew.analysis.table_bonus import call_it_bonus, switches
from clew.analysis.table_columns import COLUMNS, Columns
from clew.validate import BadInput

SETTING = 20
"""A column with more values than this is taken for a measurement."""
MOST_NAMED = 3
FLAGS = {"", "0", "1", "0.0", "1.0", "true", "false", "yes", "no"}
"""Values of a column that says what happened, and was not set."""
ROWS, OVERLAP = 3, 0.8
"""Of every value in a run, at the least; and the share of its steps over which all are there."""


def twice(table: pd.DataFrame, rows: pd.DataFrame, columns: Columns, where: str) -> BadInput:
    """What to say of the first run that is there twice: `table` has the cells as written."""
    again = rows[rows.duplicated(list(RUN))].iloc[0]
    same = table[(rows[list(RUN)] == again[list(RUN)]).all(axis=1)]
    said = f"{where}, row {again.name}: {describe(again)} is there twice; "
    differ = [c for c in columns.unread if same[c].nunique() > 1]
    # what names a row, such as a time or a file, tells nothing
    differ = [c for c in differ if table[c].nunique() < len(table)] or differ
    if not differ:
        over_time = "" if "steps" in rows else ", or add a column step if scores are over time"
        one_step = "no run has rows at two different steps; " if "steps" in rows else ""
        return BadInput(f"{said}{one_step}give every run a seed of its own{over_time}")
    named = [f"{c!r} ({_values(same[c])})" for c in differ[:MOST_NAMED]]
    said += f"its rows differ in {listed(named)}{', …' * (len(differ) > MOST_NAMED)}"
    first, agent = differ[0], columns.called["architecture"]
    if _means_the_agent(first):
        said += f", which was passed over for {agent!r}"
    may_be = [c for c in switches(table, columns) if c in differ]
    said += f": {call_it_bonus(may_be)}; or else" if may_be else ":"
    name = f"{again['architecture']} {same[first].iloc[0]}"
    return BadInput(
        f"{said} keep the rows of one value, or make it part of the name in {agent!r}, such as "
        f"{name!r}{_or_step(same[first])}"
    )


def mixed(table: pd.DataFrame, rows: pd.DataFrame, columns: Columns) -> list[str]:
    """A caution where scores over time are of several settings or studies, taken as one run.

    Of settings: that is so if a run's rows at one step all differ in a column with few values, or
    if all values of a column are there from the beginning of every run to its end.
    """
    at = [rows[c] for c in (*RUN, "steps")]
    together = pd.concat(at, axis=1).duplicated(keep=False)
    for column in columns.unread:
        values = table[column]
        if not 1 < values.nunique() <= SETTING:
            continue
        # a parallel environment's number tells rows apart, too: the caution leaves that open
        at_once = together.any() and not (
            pd.concat([*at, values], axis=1)[together].duplicated().any()
        )
        if at_once or _throughout(rows, values):
            found, agent = f"{column!r} ({_values(values)})", columns.called["architecture"]
            said = (
                f"at the same step of a run there are rows with several values of {found}, and "
                "they were averaged"
                if at_once
                else f"every run has rows of several values of {found} from beginning to end, and "
                "they were taken as one curve"
            )
            return [
                f"Caution: {said}; if it is a setting, keep the rows of one value, or make it part "
                f"of the name in {agent!r}."
            ]
    return _doubled(rows, [*at, *(table[c] for c in columns.unread)])


def _doubled(rows: pd.DataFrame, told_apart: Sequence[pd.Series]) -> list[str]:
    """A caution where every step of a run is there several times, as of two studies in a table."""
    scores = rows["score"].groupby(list(told_apart)).nunique()
    runs = (scores > 1).groupby(level=list(range(len(RUN)))).all()
    if not runs.any():
        return []
    return [
        f"Caution: runs ({runs.sum():,} in all) have rows at every step that differ in score "
        "and in nothing else, and they were averaged. For environments in parallel that is right; "
        "if they are runs of several studies, give every run a seed of its own."
    ]


def _throughout(rows: pd.DataFrame, values: pd.Series) -> bool:
    """Whether every run has all values from its beginning to its end, and they are no counts."""
    if pd.to_numeric(values, errors="coerce").mod(1).eq(0).all() and values.nunique() > 2:
        return False  # whole numbers: more likely counted than set
    if set(values.str.lower()) <= FLAGS:
        return False
    spans = rows["steps"].groupby([*(rows[c] for c in RUN), values]).agg(["min", "max", "size"])
    runs = spans.groupby(level=list(RUN)).agg(
        {"min": ["min", "max", "size"], "max": ["min", "max"]}
    )
    long = runs["max"]["max"] - runs["min"]["min"]
    both = runs["max"]["min"] - runs["min"]["max"]
    every = (runs["min"]["size"] == values.nunique()).all()
    return bool(every and (spans["size"] >= ROWS).all() and (both > OVERLAP * long).all())


def _means_the_agent(column: str) -> bool:
    return column.strip().lower() in COLUMNS["architecture"]


def _values(column: pd.Series) -> str:
    found = list(dict.fromkeys(column))
    shown: Sequence[str] = [repr(value) for value in found[:MOST_NAMED]]
    return ", ".join(shown) + ", …" if len(found) > MOST_NAMED else listed(shown)


def _or_step(column: pd.Series) -> str:
    """Where it may count time: whole numbers that grow."""
    numbers = pd.to_numeric(column, errors="coerce")
    grows = len(column) > 2 and bool((numbers % 1 == 0).all()) and numbers.is_monotonic_increasing
    return "; or call it 'step' if scores are over time" if grows else ""
