"""The cells of someone's table: words as the analysis has them, numbers as numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.names import BONUSES, NONE
from clew.analysis.results import RUN, STATUSES
from clew.analysis.score_range import FLAG
from clew.validate import BadInput, listing

OWN_REWARD = "native"
"""The reward variant where no column names one: the environment's own."""
NO_BONUS = {"", "none", "no", "off", "false", "nan", "null", "0", "0.0"}
BONUS_ON = {"true", "yes", "on", "1", "1.0"}
DONE = ("", "done", "ok", "complete", "completed", "success", "true")
STATUS_WORDS = {
    **{status: status for status in STATUSES},
    **dict.fromkeys(DONE, "finished"),
    **dict.fromkeys(("crashed", "killed"), "failed"),
    **dict.fromkeys(("pending", "preempting", "preempted"), "unfinished"),
}
"""What others call a status, wandb among them."""
NO_NUMBER = {"", "nan", "na", "n/a", "<na>", "null", "none"}
"""How others write a number that is not there."""
TRUTHS = {"true": "1", "false": "0"}
"""Of a score that is a success or none."""
MOST_LISTED = 8
ADVICE = {
    "seed": "number the runs of an arm 0, 1, 2, …",
    "score": "write one such as 0.25 or, if the run failed, say so in a column status",
    **dict.fromkeys(("steps", "score_min", "score_max"), "write one such as 100000"),
}
"""What to do about a cell that is no number."""


def checked(
    frame: pd.DataFrame, where: str, baseline: str | None, called: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows, and notes on how cells were read; a mistake is told with its row.

    `called` is what the table calls a column.
    """
    rows = frame.copy()
    for column, word in (("environment", "environment"), ("architecture", "agent")):
        empty = rows[rows[column] == ""]
        if len(empty):
            raise BadInput(f"{where}, row {empty.index[0]}: the {word} is empty; name it")
    rows["reward"] = _text(rows, "reward").replace("", OWN_REWARD)
    rows["bonus"], notes = _bonuses(_text(rows, "bonus"), where, baseline, called.get("bonus", ""))
    rows["status"] = _statuses(_text(rows, "status"), where, called.get("status", ""))
    finished = rows["status"] == "finished"
    for column in [c for c in map(str, rows) if c not in (*RUN[:4], "status", "score")]:
        if column == "seed" and rows[column].str.isdigit().all():
            rows[column] = [int(seed) for seed in rows[column]]  # exact where floats are not
            continue
        rows[column] = _checked_numbers(rows[column], finished | (column == "seed"), where)
    wrong = frame["seed"][~(rows["seed"] % 1 == 0)]
    if len(wrong):
        said = f"seed={wrong.iloc[0]!r} is no whole number; {ADVICE['seed']}"
        raise BadInput(f"{where}, row {wrong.index[0]}: {said}")
    rows["bonus_coef"] = rows["bonus_coef"].fillna(0.0) if "bonus_coef" in rows else 0.0
    rows["status"] = _at_the_end(rows)
    finished = rows["status"] == "finished"
    words = rows["score"].str.lower()
    scores = words.map(TRUTHS).where(words.isin(TRUTHS), rows["score"])
    rows["score"] = _checked_numbers(scores, finished, where).where(finished)
    return rows, notes


def in_percent(frame: pd.DataFrame, called: Mapping[str, str]) -> bool:
    """Whether scores are percentages: the column's name says so, or every cell does.

    The signs are then taken off the cells of `frame`.
    """
    scores = frame["score"]
    written = scores[~scores.str.lower().isin(NO_NUMBER)]
    signed = len(written) > 0 and bool(written.str.endswith("%").all())
    if not signed and "%" not in called["score"]:
        return False
    frame["score"] = scores.str.rstrip("% ")
    return True


def refuse_small_percentages(scores: pd.Series, name: str, where: str) -> None:
    """Raise an error where the column's name has a percent sign, and no score is above 1."""
    if "%" in name and scores.notna().any() and 0 < scores.max() <= 1:
        raise BadInput(
            f"{where}: no score in {name!r} is above 1; if they are shares and no percentages, "
            f"say so with {FLAG} 0 1, or else with {FLAG} 0 100"
        )


def _text(rows: pd.DataFrame, column: str) -> pd.Series:
    return rows[column] if column in rows else pd.Series("", rows.index, dtype=object)


def _at_the_end(rows: pd.DataFrame) -> pd.Series:
    """The status of each row's run, which is that of its last row."""
    in_order = rows.sort_values("steps", kind="stable") if "steps" in rows else rows
    return in_order.groupby(list(RUN))["status"].transform("last")


def _checked_numbers(column: pd.Series, needed: pd.Series, where: str) -> pd.Series:
    """NaN where there is none; where one is `needed`, what is no number is told."""
    numbers, name = _numbers(column), str(column.name)
    wrong = column[numbers.isin([np.inf]) & needed]
    if len(wrong) and name in ADVICE:
        said = f"{name}={wrong.iloc[0]!r} is no number; {ADVICE[name]}"
        raise BadInput(f"{where}, row {wrong.index[0]}: {said}")
    # an optional column of something else is none of ours
    return numbers.where(np.isfinite(numbers) & wrong.empty)


def _numbers(column: pd.Series) -> pd.Series:
    """NaN where there is none, infinite where a cell is no finite number."""

    def number(text: str) -> float:
        if text.lower() in NO_NUMBER:
            return np.nan
        try:
            found = float(text)
        except ValueError:
            return np.inf
        return found if np.isfinite(found) else np.inf

    # pandas' own conversion may miss the last bit
    return pd.Series([number(text) for text in column], column.index, dtype=float)


def _bonuses(
    column: pd.Series, where: str, baseline: str | None, called: str
) -> tuple[pd.Series, list[str]]:
    """The column with `NONE` where there was no bonus, and a note if others were given a name."""
    found = sorted(set(column))
    values = listing(found[:MOST_LISTED]) + ", …" * (len(found) > MOST_LISTED)
    none = without_bonus(column)
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
    others = sorted(set(column[~none]))
    given = _given_names(others)
    names = {b: given.get(b, known.get(b.lower(), b)) for b in others}
    notes = _named_note(called, given)
    if baseline is not None and baseline.lower() not in NO_BONUS:
        notes.append(f"Gains are over {baseline!r}: that is what 'without a bonus' means here.")
    return column.map(names).mask(none, NONE), notes


def without_bonus(column: pd.Series) -> pd.Series:
    """Which cells mean none, if the column is one of bonuses."""
    return column.str.lower().isin(NO_BONUS) | (_numbers(column) == 0)


def _given_names(bonuses: list[str]) -> dict[str, str]:
    """Names for a switch or for coefficients, where the column has nothing else."""
    if all(b.lower() in BONUS_ON for b in bonuses):
        return dict.fromkeys(bonuses, "bonus")
    numbers = _numbers(pd.Series(bonuses, dtype=object))
    if np.isfinite(numbers).all():
        return {b: f"bonus {x:g}" for b, x in zip(bonuses, numbers, strict=True)}
    return {}


def _named_note(called: str, given: Mapping[str, str]) -> list[str]:
    if not given:
        return []
    shown = [f"{b!r} is shown as {name!r}" for b, name in list(given.items())[:MOST_LISTED]]
    return [f"The column {called!r} has no names of bonuses: {listed(shown)}."]


def _statuses(column: pd.Series, where: str, called: str) -> pd.Series:
    status = column.str.lower().map(STATUS_WORDS)
    wrong = column[status.isna()]
    if len(wrong):
        raise BadInput(
            f"{where}, row {wrong.index[0]}: {called}={wrong.iloc[0]!r} is not valid; choose "
            f"{listing(STATUSES)}"
        )
    return status
