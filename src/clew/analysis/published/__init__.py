"""The study's published numbers, in the form that our own results have."""

from __future__ import annotations

from importlib import resources

import pandas as pd

from clew.analysis.results import Results

DECIMALS = 2
"""What was printed is rounded to this many decimals."""
SEEDS = 10
"""Runs of every published arm."""
STEPS = {
    "MysteryPath-Grid": 20_000_000,
    "MiniGrid-MemoryS13": 20_000_000,
    "MiniGrid-MemoryS13[view=7]": 20_000_000,
    "TinyReproduce": 10_000_000,
}
"""Environment steps of every published run."""
COEF = 0.03
"""λ of every published run with a bonus."""

_ENVIRONMENTS = {
    "mystery_path": "MysteryPath-Grid",
    "memory_s13": "MiniGrid-MemoryS13",
    "tiny_reproduce": "TinyReproduce",
}


def published() -> Results:
    """The two tasks whose every seed was printed, as finished runs: 360 of the 1,800."""
    frame = _renamed(_read("seed_vectors.csv").rename(columns={"rank": "seed"}))
    frame["status"] = "finished"
    frame["bonus_coef"] = COEF * (frame["bonus"] != "none")
    frame["steps"] = frame["environment"].map(STEPS)
    return Results.from_frames(frame)


def published_success() -> pd.DataFrame:
    """Mean and standard deviation of all 180 arms: environment, reward, …, mean, std."""
    return _renamed(_read("success.csv"))


def published_pace() -> pd.DataFrame:
    """When arms first held a threshold: …, threshold, million_steps (NaN: never), seeds."""
    pace = _renamed(_read("pace.csv"))
    return pace.assign(million_steps=pd.to_numeric(pace["million_steps"]))


def _read(name: str) -> pd.DataFrame:
    with resources.files(__name__).joinpath(name).open() as file:
        return pd.read_csv(file, keep_default_na=False)


def _renamed(frame: pd.DataFrame) -> pd.DataFrame:
    """Our names: the view belongs to the environment, and 3×3 is its default."""
    reward = frame["reward"].str.removesuffix("_3x3").str.removesuffix("_7x7")
    wide = frame["reward"].str.endswith("_7x7")
    environment = frame["environment"].map(_ENVIRONMENTS)
    return frame.assign(
        environment=environment.where(~wide, environment + "[view=7]"), reward=reward
    )
