"""Scores of any scale as shares of the range that they can have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clew.analysis.formatting import listed
from clew.validate import BadInput, known_names

Range = tuple[float, float]
Ranges = Mapping[str | None, Range]
"""By environment; under None, that of all others."""
MOST_ROUNDING = 1e-9
"""Of the range: scores may lie outside by so much, and are taken as its ends."""
FLAG = "--score-range"


def parse_ranges(words: Sequence[str]) -> dict[str | None, Range]:
    """From 'LOW HIGH' for all environments, and any number of 'ENVIRONMENT=LOW:HIGH'."""
    ranges: dict[str | None, Range] = {}
    plain = []
    for word in words:
        environment, mark, bounds = word.rpartition("=")
        if mark:
            low, _, high = bounds.partition(":")
            ranges[environment] = _range(word, low, high)
        else:
            plain.append(word)
    if plain:
        ranges[None] = _range(" ".join(plain), *plain)
    return ranges


def checked_ranges(ranges: Ranges | Range | None) -> dict[str | None, Range]:
    """As Python gives them: by environment, or one pair for all."""
    given = ranges if isinstance(ranges, Mapping) else {} if ranges is None else {None: ranges}
    found = {environment: _pair(ends) for environment, ends in given.items()}
    known = {environment: pair for environment, pair in found.items() if pair is not None}
    if len(known) < len(found):
        raise BadInput(
            f"ranges={ranges!r} is not valid; give the least and the largest score, such as "
            "(0, 500), or such a pair by environment: {'CartPole-v1': (0, 500)}"
        )
    return known


def assumed(called: str) -> str:
    """Of returns that lie in 0 to 1, where no range was given."""
    return (
        f"No range was given for {called!r}: as it lies between 0 and 1, it was taken for a share "
        f"of that. If the task's returns can be others, say which with {FLAG} LOW HIGH."
    )


def shares(rows: pd.DataFrame, where: str, ranges: Ranges) -> tuple[pd.Series, list[str]]:
    """Scores mapped to 0 to 1, and a note if any range is another one.

    `rows` has environment and score, perhaps score_min and score_max. The index names the row in
    an error.
    """
    low, high = _bounds(rows, where, ranges)
    share = (rows["score"] - low) / (high - low)
    outside = rows[(share < -MOST_ROUNDING) | (share > 1 + MOST_ROUNDING)]
    if len(outside):
        line, first = outside.index[0], outside.iloc[0]
        raise BadInput(
            f"{where}, row {line}: score={first['score']:g} is not from {low[line]:g} to "
            f"{high[line]:g}; say which scores there can be with {FLAG} LOW HIGH, or "
            f"{FLAG} {first['environment']}=LOW:HIGH"
        )
    spans = pd.DataFrame({"environment": rows["environment"], "low": low, "high": high})
    return share.clip(0, 1), _notes(spans.drop_duplicates())


def _bounds(rows: pd.DataFrame, where: str, ranges: Ranges) -> tuple[pd.Series, pd.Series]:
    columns = {"score_min", "score_max"} & set(rows.columns)
    if not columns:
        known_names("environment", (e for e in ranges if e is not None), set(rows["environment"]))
        every = [ranges.get(e, ranges.get(None, (0.0, 1.0))) for e in rows["environment"].tolist()]
        pairs = np.array(every, float)
        return pd.Series(pairs[:, 0], rows.index), pd.Series(pairs[:, 1], rows.index)
    if ranges:
        raise BadInput(f"{where} says in {listed(sorted(columns))} which scores there can be; "
                       f"leave {FLAG} out, or those columns")  # fmt: skip
    if len(columns) == 1:
        raise BadInput(f"{where} has {columns.pop()}, but not the other end of the scores' range; "
                       "give both score_min and score_max, or neither")  # fmt: skip
    wrong = rows[~(rows["score_min"] < rows["score_max"])]
    if len(wrong):
        raise BadInput(
            f"{where}, row {wrong.index[0]}: score_min={wrong['score_min'].iloc[0]:g} is not below "
            f"score_max={wrong['score_max'].iloc[0]:g}; give the least and the largest score "
            "that the task can have"
        )
    return rows["score_min"], rows["score_max"]


def _range(typed: str, *ends: str) -> Range:
    pair = _pair(ends)
    if pair is None:
        raise BadInput(
            f"{FLAG} {typed!r} is not valid; write LOW HIGH, such as 0 500, or "
            "ENVIRONMENT=LOW:HIGH, after the name of the file"
        )
    return pair


def _pair(ends: Iterable[Any]) -> Range | None:
    """None if they are no range."""
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        return None
    return (low, high) if -np.inf < low < high < np.inf else None


def _notes(spans: pd.DataFrame) -> list[str]:
    named = {
        f"{low:g} to {high:g}": None for low, high in zip(spans["low"], spans["high"], strict=True)
    }
    if list(named) == ["0 to 1"]:
        return []
    if len(named) == 1:
        said = f"the range {next(iter(named))}"
    else:
        each = spans.itertuples(index=False, name=None)
        said = "its range: " + "; ".join(f"{e} from {low:g} to {high:g}" for e, low, high in each)
    return [f"Every score, and whatever is called success here, is the share of {said}."]
