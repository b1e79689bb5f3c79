"""Scores at steps of runs, from a table of anyone's results: the runs and their curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew.analysis.results import EVALUATIONS, RUN, TASK, by_run, describe
from clew.metrics import TAIL
from clew.validate import BadInput


def tail_mean_by_steps(
    steps: NDArray[np.float64], scores: NDArray[np.float64], begun: float
) -> float:
    """Mean over the final 20% of the steps, which increase; at least the last score.

    `begun` is where the first score would stand, had the run been scored from the start.

    A score stands until the step of the next one, and counts by these steps, the last one by the
    mean gap. So neither a denser log nor many short episodes weigh more, and what an episode weighs
    does not depend on how it went: by its own length, long successes would outweigh short failures.
    Of evenly spaced scores this is `clew.metrics.tail_mean`.
    """
    if len(steps) == 1:
        return float(scores[0])
    gaps = np.diff(steps)
    usual = gaps.mean()
    # half a gap of slack rounds the number of scores, as `tail_mean` does
    first = steps[-1] + usual / 2 - TAIL * (steps[-1] - begun + usual)
    inside = (steps >= first) | (steps == steps[-1])
    stands = np.append(gaps, usual)[inside] / usual
    return float(np.average(scores[inside], weights=stands))


def over_time(rows: pd.DataFrame, where: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of runs and the curves; rows of a run at one step are averaged."""
    if rows["steps"].isna().any():
        line = rows.index[rows["steps"].isna()][0]
        raise BadInput(
            f"{where}, row {line} has no step, and other rows of the table have one; give every "
            "row its step, or keep final scores in a table of their own"
        )
    keys = list(RUN)
    last = rows.sort_values("steps", kind="stable").groupby(keys, sort=True).tail(1)
    runs = last[[*keys, "steps", "status"]].reset_index(drop=True)
    curves = _curves(rows, runs)
    runs = runs.rename(columns={"steps": "last_row"})
    runs = runs.merge(curves.groupby(keys)["steps"].max().reset_index(), on=keys, how="left")
    runs["steps"] = runs["steps"].fillna(runs["last_row"])
    begun = curves.groupby(list(TASK))["steps"].min().to_dict()
    found = [
        (*run, tail_mean_by_steps(steps, scores, begun[run[:2]]), scores[-1])
        for run, (steps, scores) in by_run(curves, "success")
    ]
    columns = [*keys, "tail_mean", "final_success"]
    runs = runs.merge(pd.DataFrame(found, columns=columns), on=keys, how="left")
    without = runs[runs["tail_mean"].isna() & (runs["status"] == "finished")]
    if len(without):
        raise BadInput(f"{where}: {describe(without.iloc[0])} has no score in any of its rows")
    return runs, curves


def _curves(rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The scores of finished runs, in the order of their steps."""
    keys = list(RUN)
    done = pd.MultiIndex.from_frame(runs[runs["status"] == "finished"][keys])
    optional = [c for c in EVALUATIONS if c in rows and c not in ("steps", "success")]
    whole = pd.MultiIndex.from_frame(rows[keys]).isin(done)
    scored = rows[rows["score"].notna() & whole].rename(columns={"score": "success"})
    curves = scored.groupby([*keys, "steps"], sort=True)[["success", *optional]].mean()
    return curves.reset_index()
