"""Probes by arm: a table with one row a run, and means over seeds with intervals. Needs no jax."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import cast

import numpy as np
import pandas as pd

from clew.analysis import formatting, names
from clew.analysis.results import ARM
from clew.analysis.statistics import Arm
from clew.analysis.stats.intervals import Interval, mean_interval, welch, without_interval
from clew.envs import shown_first
from clew.probes.results import FEATURES, ProbeSummary, without_nan
from clew.probes.stored import ProbedRuns, StoredProbes
from clew.store.arms import name_arms, swept_coefficients
from clew.store.canonical import JsonObject

AUCS = (*FEATURES, *(f"mlp_{name}" for name in FEATURES))
NUMBERS = (
    *AUCS, "selectivity", "mlp_selectivity", "effective_dimension", "state_size", "questions",
    "rows", "tail_mean",
)  # fmt: skip
"""Of every run, besides its arm and seed; NaN where they are not known."""
RANGES = {
    "selectivity": (-1.0, 1.0), "mlp_selectivity": (-1.0, 1.0),
    **dict.fromkeys((*AUCS, "tail_mean"), (0.0, 1.0)),
}  # fmt: skip
"""Of numbers that have an upper bound."""


@dataclasses.dataclass(frozen=True)
class ArmProbes:
    """The probes of one arm: means over its seeds."""

    environment: str
    reward: str
    architecture: str
    bonus: str
    seeds: int
    intervals: Mapping[str, Interval]
    """By the names of `NUMBERS`: the mean over seeds, 95%, t."""

    @property
    def key(self) -> Arm:
        """Its four names."""
        return self.environment, self.reward, self.architecture, self.bonus

    @property
    def task(self) -> str:
        """'MPG / sparse'."""
        return names.task_label(self.environment, self.reward)

    def text(self, name: str, decimals: int = 2) -> str:
        """'0.73 [0.70, 0.76]'."""
        return formatting.estimate(
            self.intervals[name], decimals, plus=name.endswith("selectivity")
        )

    def to_json(self) -> JsonObject:
        """Plain data, None where a number is not known."""
        numbers = {
            name: {"mean": one.estimate, "low": one.low, "high": one.high}
            for name, one in self.intervals.items()
        }
        arm = {name: getattr(self, name) for name in ARM}
        return without_nan({**arm, "seeds": self.seeds, **numbers})


def run_table(runs: ProbedRuns) -> pd.DataFrame:
    """A row for every run that has a result: its arm, its seed, and `NUMBERS`."""
    rows = [{**arm, **_numbers(stored, summary)} for arm, stored, summary in _with_result(runs)]
    return pd.DataFrame(rows, columns=[*ARM, "seed", *NUMBERS])


def delay_table(runs: ProbedRuns) -> pd.DataFrame:
    """AUC by steps since the answer was last visible: a row for every run, bin and features."""
    rows = [
        {**arm, "low": one["low"], "high": one["high"], "features": name, "auc": auc}
        for arm, _, summary in _with_result(runs)
        for one in summary["by_since"]
        for name, auc in one["auc"].items()
        if auc is not None
    ]
    return pd.DataFrame(rows, columns=[*ARM, "seed", "low", "high", "features", "auc"])


def arm_means(table: pd.DataFrame) -> list[ArmProbes]:
    """Means over the seeds of each arm, in the study's order."""
    return [
        ArmProbes(*arm, len(rows), {name: _interval(rows, name) for name in NUMBERS})
        for arm, rows in _by_arm(table).items()
    ]


def decoded(runs: ProbedRuns) -> dict[Arm, Interval]:
    """By arm: how much more can be read from memory than from the strongest control, in AUC."""
    return {arm.key: arm.intervals["selectivity"] for arm in arm_means(run_table(runs))}


def bonus_gains(table: pd.DataFrame) -> pd.DataFrame:
    """What each bonus adds to success and to the memory's AUC: rows for `figures.decodability`."""
    by_arm, gains = _by_arm(table), []
    for (environment, reward, architecture, bonus), with_bonus in by_arm.items():
        without = by_arm.get((environment, reward, architecture, names.NONE))
        if bonus == names.NONE or without is None:
            continue
        gain: dict[str, object] = {
            "task": f"{names.task_label(environment, reward)}, {names.bonus_label(bonus)}",
            "architecture": architecture,
        }
        for column, source in (("gain", "tail_mean"), ("auc", "memory")):
            found = welch(
                with_bonus[source].to_numpy(float), without[source].to_numpy(float)
            ).interval
            ends = (found.low, found.high) if found.known else (found.estimate, found.estimate)
            gain |= {column: found.estimate, f"{column}_low": ends[0], f"{column}_high": ends[1]}
        gains.append(gain)
    return pd.DataFrame(gains).dropna() if gains else pd.DataFrame()


def _with_result(runs: ProbedRuns) -> list[tuple[dict[str, object], StoredProbes, ProbeSummary]]:
    """Arms as the report names them; several coefficients of one bonus get names of their own."""
    kept = [(c, stored, s) for c, stored in runs if (s := stored["summary"]) is not None]
    arms, _ = name_arms([config for config, _, _ in kept])
    found = []
    swept = swept_coefficients(arms)
    for arm, several, (config, stored, summary) in zip(arms, swept, kept, strict=True):
        row: dict[str, object] = {**dict(zip(ARM, arm, strict=False)), "seed": config["seed"]}
        if several:
            row["bonus"] = f"{arm.bonus} (λ = {arm.coef:g})"
        found.append((row, stored, summary))
    return found


def _numbers(stored: StoredProbes, summary: ProbeSummary) -> dict[str, float]:
    numbers = {name: summary["linear"][name] for name in FEATURES}
    numbers |= {f"mlp_{name}": summary["mlp"][name] for name in FEATURES}
    numbers |= {name: summary[name] for name in NUMBERS if name in summary}
    numbers["tail_mean"] = stored["tail_mean"]
    return {name: math.nan if value is None else value for name, value in numbers.items()}


def _by_arm(table: pd.DataFrame) -> dict[Arm, pd.DataFrame]:
    """The rows of each arm, in the order of the study."""
    study = (shown_first(), names.REWARDS, names.ARCHITECTURES, tuple(names.BONUSES))
    orders = [names.ordered(table[column], known) for column, known in zip(ARM, study, strict=True)]
    groups: dict[Arm, pd.DataFrame] = {
        cast(Arm, arm): rows for arm, rows in table.groupby([*ARM], sort=False)
    }
    places = {arm: [o.index(n) for o, n in zip(orders, arm, strict=True)] for arm in groups}
    return {arm: groups[arm] for arm in sorted(groups, key=lambda arm: places[arm])}


def _interval(rows: pd.DataFrame, name: str) -> Interval:
    """Over the seeds that have the number."""
    values = rows[name].to_numpy(float)
    known = values[np.isfinite(values)]
    if not len(known):
        return without_interval(math.nan, (0,), "t", "no seed has it")
    return mean_interval(known, inside=RANGES.get(name, (0.0, math.inf)))
