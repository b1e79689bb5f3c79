"""What happened in training besides success: falls, the first success, what the bonus paid."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clew.analysis.table import ARM, Results

NEVER = -1


def falls(results: Results) -> pd.DataFrame:
    """By arm: falls of an episode and success of the last evaluation, mean and std over seeds."""
    runs = results.finished
    runs = runs[runs["falls"].notna()]
    return runs.groupby(list(ARM), sort=True).agg(
        falls=("falls", "mean"),
        falls_std=("falls", "std"),
        success=("final_success", "mean"),
        success_std=("final_success", "std"),
        n=("seed", "size"),
    ).reset_index()  # fmt: skip


def first_success(results: Results) -> pd.DataFrame:
    """By arm: the steps before each seed's first success, in the order of seeds; inf for never."""
    runs = results.finished
    runs = runs[runs["first_success"].notna()]
    steps = runs["first_success"].where(runs["first_success"] != NEVER, np.inf)
    runs = runs.assign(first_success=steps).sort_values([*ARM, "seed"])
    return runs.groupby(list(ARM), sort=True)["first_success"].agg(list).reset_index()


def delivered(results: Results) -> pd.DataFrame:
    """By task and bonus: what a step was paid on average over training, against the penalty.

    Mean over all seeds and memory architectures, as the study has it; `against` is NaN where the
    task has no step penalty to compare with.
    """
    runs = results.finished
    runs = runs[(runs["bonus"] != "none") & runs["delivered"].notna()]
    found = runs.groupby(["environment", "reward", "bonus"], sort=True).agg(
        normalised=("normalised", "mean"),
        delivered=("delivered", "mean"),
        penalty=("penalty", "mean"),
        n=("seed", "size"),
    ).reset_index()  # fmt: skip
    return found.assign(against=found["delivered"] / found["penalty"].where(found["penalty"] > 0))


def sweep(results: Results, steps: float | None = None) -> pd.DataFrame:
    """By arm and coefficient λ: mean, std and number of seeds of the tail mean.

    With `steps`, success at the last evaluation up to there instead, so that a bracket run that
    was stopped early is compared with the others at the same age.
    """
    if steps is None:
        runs = results.finished.rename(columns={"tail_mean": "success"})
    else:
        young = results.evaluations[results.evaluations["steps"] <= steps]
        runs = young.groupby([*ARM, "bonus_coef", "seed"], sort=True).last().reset_index()
    return runs.groupby([*ARM, "bonus_coef"], sort=True)["success"].agg(
        mean="mean", std="std", n="size"
    ).reset_index()  # fmt: skip


def cost(results: Results) -> pd.DataFrame:
    """By task: steps of a run, runs, median hours of one, and device-hours of all.

    `hours` is the sum over every run that was started, finished or not; `median_hours` × `runs`
    is what the study printed.
    """
    runs = results.runs[results.runs["seconds"].notna()]
    runs = runs.assign(hours=runs["seconds"] / 3600)
    done = runs[runs["status"] == "finished"].groupby(["environment", "reward"], sort=True)
    every = runs.groupby(["environment", "reward"], sort=True)
    return pd.DataFrame(
        {
            "steps": done["steps"].max(),
            "runs": done.size(),
            "median_hours": done["hours"].median(),
            "device_hours": every["hours"].sum(),
        }
    ).reset_index()
