"""A made-up matrix of runs with the published means and deviations, and curves to match.

It stands in for the study where every seed or curve is needed: seeds are spread evenly in rank, so
that an arm's mean and standard deviation are the published ones wherever 0 and 1 allow it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from clew.analysis.published import published_success
from clew.analysis.results import ARM, Results

PENALTY = {"MysteryPath-Grid": 1 / 128, "MiniGrid-MemoryS13": 1 / 845}
RAW = {"e3b": 0.68, "noveld": 0.07, "none": 0.0}


def matrix(
    seeds: int = 10, evaluations: int = 0, means: pd.DataFrame | None = None, clip: bool = True
) -> Results:
    """All 180 arms, or those of `means`; curves if `evaluations` are asked for."""
    means = published_success() if means is None else means
    rank = standard_ranks(seeds)
    runs = means.loc[means.index.repeat(seeds)].reset_index(drop=True)
    value = runs["mean"] + runs["std"] * np.tile(rank, len(means))
    runs["tail_mean"] = value.clip(0, 1) if clip else value
    runs["seed"] = np.tile(np.arange(seeds), len(means))
    runs["status"] = "finished"
    frozen = runs["tail_mean"] < 0.005
    bonus = runs["bonus"] != "none"
    runs = runs.assign(
        bonus_coef=0.03 * bonus,
        steps=20e6,
        seconds=3600.0 + 10 * runs["seed"],
        first_success=np.where(frozen, -1, 400.0 + 100 * runs["seed"]),
        falls=np.where(frozen, 0.0, 14 - 10 * runs["tail_mean"]),
        final_success=runs["tail_mean"],
        normalised=runs["bonus"].map(RAW),
        delivered=0.03 * runs["bonus"].map(RAW),
        penalty=runs["environment"].map(PENALTY),
    )
    if not evaluations:
        return Results.from_frames(runs)
    return Results.from_frames(runs, _curves(runs, evaluations), _rollouts(runs, evaluations))


def standard_ranks(n: int) -> np.ndarray:
    """n numbers with mean 0 and sample standard deviation 1, evenly spaced in normal rank."""
    z = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return z / z.std(ddof=1) if n > 1 else np.zeros(1)


def _repeated(runs: pd.DataFrame, times: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    keys = runs[[*ARM, "bonus_coef", "seed", "tail_mean"]]
    long = keys.loc[keys.index.repeat(times)].reset_index(drop=True)
    t = np.tile(np.arange(1, times + 1) / times, len(runs))
    return long, t, np.random.default_rng(0).normal(size=len(long))


def _curves(runs: pd.DataFrame, times: int) -> pd.DataFrame:
    long, t, noise = _repeated(runs, times)
    rise = 1 / (1 + np.exp(-(t - 0.35 - 0.01 * long["seed"]) / 0.06))
    success = long["tail_mean"] * rise + 0.05 * noise * np.sqrt(long["tail_mean"] * rise)
    success = np.round(np.clip(success, 0, 1) * 20) / 20
    alive = long["tail_mean"] > 0.005
    return long.drop(columns="tail_mean").assign(
        steps=20e6 * t,
        success=success,
        **{"return": success},
        length=np.where(alive, 128 - 90 * success, 128),
        falls=np.where(alive, 6 + 6 * (1 - success) + noise, 12 * np.exp(-t / 0.02)).clip(0),
    )


def _rollouts(runs: pd.DataFrame, times: int) -> pd.DataFrame:
    long, t, noise = _repeated(runs, times)
    raw = long["bonus"].map(RAW) * (1 + 0.1 * noise)
    alive = long["tail_mean"] > 0.005
    return long.drop(columns="tail_mean").assign(
        steps=20e6 * t,
        entropy=np.where(alive, 1.2 - 0.8 * t, 1.15) + 0.02 * noise,
        value_loss=np.where(alive, 0.02, 0.01 * np.exp(-t / 0.05)) * np.exp(0.2 * noise),
        kl=0.01 * np.exp(0.2 * noise),
        gradient_norm=0.4 * np.exp(0.2 * noise),
        explained_variance=np.where(alive, 0.8 * t, 0.0),
        raw=raw,
        normalised=raw,
        delivered=0.03 * raw,
    )
