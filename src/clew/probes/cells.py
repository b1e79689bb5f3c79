"""Probes by arm: tables with one row a run, and means over seeds with intervals. Needs no jax."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clew.analysis import names, words
from clew.analysis.recipes import named
from clew.analysis.stats.intervals import Interval, mean_interval, welch
from clew.analysis.table import ARM, records
from clew.envs import shown_first
from clew.probes.document import Document
from clew.probes.summary import FEATURES

NUMBERS = (
    *FEATURES, *(f"mlp_{name}" for name in FEATURES), "selectivity", "mlp_selectivity",
    "effective_dimension", "state_size", "questions", "rows", "tail_mean",
)  # fmt: skip
"""Of every run, besides its arm and seed; NaN where nothing is known."""
BOUNDS = {"selectivity": (-1.0, 1.0), "mlp_selectivity": (-1.0, 1.0)}
AUC = (0.0, 1.0)

Arm = tuple[str, str, str, str]
Pairs = Sequence[tuple[Mapping[str, Any], Document]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """One arm: its seeds' numbers."""

    environment: str
    reward: str
    architecture: str
    bonus: str
    seeds: int
    intervals: Mapping[str, Interval]
    """By the names of `NUMBERS`: the mean over seeds, 95%, t."""

    @property
    def task(self) -> str:
        """'MPG / sparse'."""
        return names.task_label(self.environment, self.reward)

    def text(self, name: str, decimals: int = 2) -> str:
        """'0.73 [0.70, 0.76]'."""
        return words.estimate(self.intervals[name], decimals, plus=name in BOUNDS)

    def plain(self) -> dict[str, Any]:
        """For JSON, which has no NaN."""
        numbers = {
            name: {"mean": _known(one.estimate), "low": _known(one.low), "high": _known(one.high)}
            for name, one in self.intervals.items()
        }
        return {**{name: getattr(self, name) for name in ARM}, "seeds": self.seeds, **numbers}


def table(pairs: Pairs) -> pd.DataFrame:
    """A row for every run that has an answer: its arm, its seed, and `NUMBERS`."""
    rows = [{**arm, **_numbers(made)} for arm, made in _named(pairs)]
    return pd.DataFrame(rows, columns=[*ARM, "seed", *NUMBERS])


def ages(pairs: Pairs) -> pd.DataFrame:
    """AUC by steps since the answer was last in view: a row for every run, bin and features."""
    rows = [
        {**arm, "low": each["low"], "high": each["high"], "features": name, "auc": auc}
        for arm, made in _named(pairs)
        for each in made["summary"]["by_since"]
        for name, auc in each["auc"].items()
        if auc is not None
    ]
    return pd.DataFrame(rows, columns=[*ARM, "seed", "low", "high", "features", "auc"])


def cells(frame: pd.DataFrame) -> list[Cell]:
    """Means over the seeds of each arm, in the study's order."""
    found = []
    for arm in _arms(frame):
        mine = _rows(frame, arm)
        intervals = {name: _interval(mine[name].to_numpy(float), name) for name in NUMBERS}
        found.append(Cell(*arm, len(mine), intervals))
    return found


def gains(frame: pd.DataFrame) -> pd.DataFrame:
    """What each bonus adds to success and to the memory's AUC: rows for `figures.decodability`."""
    rows = []
    for environment, reward, architecture, bonus in _arms(frame):
        task = (environment, reward, architecture)
        ours, none = _rows(frame, (*task, bonus)), _rows(frame, (*task, names.NONE))
        if bonus == names.NONE or none.empty:
            continue
        row: dict[str, Any] = {
            "task": f"{names.task_label(environment, reward)}, {names.bonus_label(bonus)}",
            "architecture": architecture,
        }
        for column, source in (("gain", "tail_mean"), ("auc", "memory")):
            found = welch(ours[source].to_numpy(float), none[source].to_numpy(float)).interval
            ends = (found.low, found.high) if found.known else (found.estimate, found.estimate)
            row |= {column: found.estimate, f"{column}_low": ends[0], f"{column}_high": ends[1]}
        rows.append(row)
    return pd.DataFrame(rows).dropna() if rows else pd.DataFrame()


def _named(pairs: Pairs) -> list[tuple[dict[str, Any], Document]]:
    """Arms as the report calls them; several coefficients of one bonus are told apart."""
    kept = [(config, made) for config, made in pairs if made["summary"] is not None]
    arms, _ = named([config for config, _ in kept])
    several: dict[tuple[str, ...], set[float]] = {}
    for arm in arms:
        several.setdefault(arm[:4], set()).add(arm.coef)
    found = []
    for arm, (config, made) in zip(arms, kept, strict=True):
        row = dict(zip(ARM, arm, strict=False))
        if len(several[arm[:4]]) > 1:
            row["bonus"] = f"{arm.bonus} (λ = {arm.coef:g})"
        found.append(({**row, "seed": config["seed"]}, made))
    return found


def _numbers(made: Document) -> dict[str, Any]:
    told = made["summary"]
    numbers = {name: told["linear"][name] for name in FEATURES}
    numbers |= {f"mlp_{name}": told["mlp"][name] for name in FEATURES}
    numbers |= {name: told[name] for name in NUMBERS if name in told}
    numbers["tail_mean"] = made["tail_mean"]
    return {name: math.nan if value is None else value for name, value in numbers.items()}


def _arms(frame: pd.DataFrame) -> list[Arm]:
    known = (shown_first(), names.REWARDS, names.ARCHITECTURES, tuple(names.BONUSES))
    ranks = [
        {name: i for i, name in enumerate(names.ordered(frame[column], order))}
        for column, order in zip(ARM, known, strict=True)
    ]
    found: set[Any] = {tuple(str(row[column]) for column in ARM) for row in records(frame)}
    return sorted(found, key=lambda arm: [r[name] for r, name in zip(ranks, arm, strict=True)])


def _rows(frame: pd.DataFrame, arm: Sequence[str]) -> pd.DataFrame:
    for column, value in zip(ARM, arm, strict=True):
        frame = frame[frame[column] == value]
    return frame


def _interval(values: np.ndarray, name: str) -> Interval:
    """Of what is known; sizes and counts have no upper bound."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Interval(math.nan, math.nan, math.nan, (0,), "t", "no seed has it")
    aucs = {*FEATURES, *(f"mlp_{each}" for each in FEATURES), "tail_mean"}
    return mean_interval(known, inside=BOUNDS.get(name, AUC if name in aucs else (0.0, math.inf)))


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
