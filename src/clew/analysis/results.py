"""What the analysis reads: one row a run, and two long tables of curves.

`Results.from_frames(runs, evaluations, rollouts)` checks everything once; the statistics then take
it as sound. A **task** is (environment, reward), an **arm** is a task with
an architecture and a bonus, a **run** is an arm with a seed. An environment's options that are
not its defaults belong to its name: `MiniGrid-MemoryS13[view=7]`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew.analysis.names import GIVEN, MEMORYLESS
from clew.validate import BadInput, hint, known_names, listing, printable

TASK = ("environment", "reward")
ARM = (*TASK, "architecture", "bonus")
RUN = (*ARM, "bonus_coef", "seed")
NEVER = -1
"""What `first_success` says of a run that never succeeded."""
Record = dict[str, Any]
"""A row of a table, by column."""
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Environment steps, and what was measured at each."""
STATUSES = ("finished", "diverged", "failed", "unfinished", "missing", "running")

RUNS = {
    "environment": "world, with options that are not its defaults in brackets",
    "reward": "variant: sparse, penalty, aligned, distractor, dense, native",
    "architecture": "memory: GRU, LSTM, RetNet, GatedDeltaNet, Mamba-2, Memoryless, Given or yours",
    "bonus": "none, e3b, noveld or yours",
    "seed": "whole number; with the arm it names the run",
    "tail_mean": "mean success over the final 20% of evaluations; NaN unless finished",
    "status": "finished, diverged (a loss was not finite), failed, unfinished, running or missing",
    "bonus_coef": "λ that the bonus is multiplied with",
    "steps": "environment steps taken",
    "seconds": "device seconds: for a run in a pack, its share of the pack's",
    "first_success": "environment steps before the first success; `NEVER` for never",
    "falls": "a whole episode's, mean over the final 20% of evaluations",
    "final_success": "success of the last evaluation",
    "normalised": "bonus a step before λ, mean over training (the paper's raw b)",
    "delivered": "bonus a step after λ, mean over training",
    "penalty": "size of the step penalty that the variant charges, or would charge",
    "run": "its name in the store that it was read from, for `clew show`; empty if there is none",
}  # fmt: skip
"""Columns of `Results.runs`. The first seven are required; others may be missing, and are NaN."""
REQUIRED = tuple(RUNS)[:7]

EVALUATIONS = {
    "steps": "environment steps before the evaluation",
    "success": "share of its episodes that succeeded",
    "return": "undiscounted, without the bonus",
    "length": "steps of an episode",
    "falls": "of an episode",
}
"""Columns of `Results.evaluations` besides those that name the run."""
ROLLOUTS = {
    "steps": "environment steps before the update",
    "entropy": "of the policy, in nats",
    "value_loss": "of the critic",
    "kl": "approximate divergence of the update",
    "gradient_norm": "before clipping",
    "explained_variance": "share of the targets' variance that the critic explains",
    "raw": "bonus a step as its method gives it",
    "normalised": "… divided by its running deviation and clipped",
    "delivered": "… times λ, where it is paid: what is added to the reward",
}
"""Columns of `Results.rollouts` besides those that name the run."""


@dataclasses.dataclass(frozen=True)
class Results:
    """Checked tables. Make one with `Results.from_frames`."""

    runs: pd.DataFrame
    """Columns `RUNS`, one row a run."""
    evaluations: pd.DataFrame
    """Columns `RUN` and `EVALUATIONS`, one row an evaluation."""
    rollouts: pd.DataFrame
    """Columns `RUN` and `ROLLOUTS`, one row an update (or every so many of them)."""
    lower: str = MEMORYLESS
    """The architecture that is the control without a memory; it need not be there."""
    upper: str = GIVEN
    """… that is given what a perfect memory would hold. Spreads leave both controls out."""
    single_scores: bool = False
    """Whether what stands for a run's tail mean is one score that somebody gave."""

    @staticmethod
    def from_frames(
        runs: pd.DataFrame,
        evaluations: pd.DataFrame | None = None,
        rollouts: pd.DataFrame | None = None,
        *,
        lower: str = MEMORYLESS,
        upper: str = GIVEN,
    ) -> Results:
        """Check the tables, fill absent optional columns with NaN, put rows in a fixed order."""
        runs = _complete("runs", runs, RUNS, REQUIRED)
        runs["bonus_coef"] = runs["bonus_coef"].fillna(0.0)
        known_names("status", runs["status"].unique(), STATUSES)
        _check_runs(runs)
        runs["seed"] = runs["seed"].astype(int)
        runs = runs.sort_values(list(RUN), kind="stable").reset_index(drop=True)
        return Results(
            runs,
            _curve("evaluations", evaluations, EVALUATIONS, runs),
            _curve("rollouts", rollouts, ROLLOUTS, runs),
            lower,
            upper,
        )

    @property
    def finished(self) -> pd.DataFrame:
        """The runs that count: everything else is listed, not averaged."""
        return self.runs[self.runs["status"] == "finished"]

    @cached_property
    def curves(self) -> dict[tuple[str, str], dict[tuple[str, str], list[Curve]]]:
        """By task, then by architecture and bonus: every run's evaluations that have a success."""
        known = self.evaluations[self.evaluations["success"].notna()]
        found: dict[tuple[str, str], dict[tuple[str, str], list[Curve]]] = {}
        for run, curve in by_run(known, "success"):
            arms = found.setdefault(run[:2], {})
            arms.setdefault(run[2:4], []).append(curve)
        return found

    def usual(self) -> Results:
        """Without the rest of a sweep: of every arm one λ.

        It is the one with which most runs of the task and bonus finished, of those that the arm
        finished any with; of equally many the larger.
        """
        one = [*ARM, "bonus_coef"]
        arms = self.runs[one].drop_duplicates()
        if not arms.duplicated(list(ARM)).any():
            return self
        counted = self.runs.assign(done=self.runs["status"] == "finished")
        for name, by in (("own", one), ("all", [*TASK, "bonus", "bonus_coef"])):
            counted[name] = counted.groupby(by)["done"].transform("sum")
        counted["own"] = counted["own"] > 0
        ranked = counted.sort_values([*ARM, "own", "all", "bonus_coef"])
        keys = pd.MultiIndex.from_frame(ranked.groupby(list(ARM)).tail(1)[one])

        def keep(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[pd.MultiIndex.from_frame(frame[one]).isin(keys)].reset_index(drop=True)

        return self._each(keep)

    def only(self, **chosen: object) -> Results:
        """The runs (and their curves) whose columns have these values: `only(reward="sparse")`."""
        known_names("column of a run", chosen, RUN)

        def keep(frame: pd.DataFrame) -> pd.DataFrame:
            for column, value in chosen.items():
                frame = frame[frame[column] == value]
            return frame.reset_index(drop=True)

        return self._each(keep)

    def _each(self, keep: Callable[[pd.DataFrame], pd.DataFrame]) -> Results:
        return dataclasses.replace(
            self,
            runs=keep(self.runs),
            evaluations=keep(self.evaluations),
            rollouts=keep(self.rollouts),
        )


def _complete(
    name: str, frame: pd.DataFrame, columns: dict[str, str], required: Sequence[str]
) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"{name} must be a pandas DataFrame, not {type(frame).__name__}")
    for column in required:
        if column not in frame:
            raise BadInput(
                f"{name} has no column {column!r}{hint(column, map(str, frame.columns))}; "
                f"it needs {listing(required).replace(' or ', ' and ')}"
            )
    frame = frame.reindex(columns=list(columns))
    if "run" in columns:
        frame["run"] = frame["run"].astype(object).where(frame["run"].notna(), "")
    words = [
        c
        for c in ("environment", "reward", "architecture", "bonus", "status", "run")
        if c in columns
    ]
    frame[words] = frame[words].astype(str)
    for column in words:
        odd = {name: printable(name) for name in frame[column].unique() if name != printable(name)}
        frame[column] = frame[column].replace(odd) if odd else frame[column]
    whole = [c for c in ("seed",) if pd.api.types.is_integer_dtype(frame[c])]  # floats end at 2^53
    numbers = [c for c in columns if c not in words and c not in whole]
    try:
        frame[numbers] = frame[numbers].astype(float)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name}: a number is expected in {listing(numbers)}: {error}") from None
    return frame


def _check_runs(runs: pd.DataFrame) -> None:
    if runs.empty:
        raise BadInput("there are no runs: the table is empty, so there is nothing to analyse")
    if runs["seed"].isna().any() or (runs["seed"] % 1 != 0).any():
        bad = runs["seed"][~(runs["seed"] % 1 == 0)].iloc[0]
        raise BadInput(f"seed={bad:g} is not valid; it must be a whole number")
    twice = runs[runs.duplicated(list(RUN))]
    if len(twice):
        raise BadInput(f"a run is there twice: {describe(twice.iloc[0])}")
    done = runs[runs["status"] == "finished"]
    bad = done[~done["tail_mean"].between(0, 1)]
    if len(bad):
        raise BadInput(
            f"tail_mean={bad['tail_mean'].iloc[0]:g} of the finished run {describe(bad.iloc[0])} "
            "is no success rate from 0 to 1; if its loss was not finite, its status is 'diverged'"
        )


def _curve(
    name: str, frame: pd.DataFrame | None, columns: dict[str, str], runs: pd.DataFrame
) -> pd.DataFrame:
    if frame is None:
        return pd.DataFrame({c: pd.Series(dtype=runs[c].dtype) for c in RUN}).assign(
            **{c: pd.Series(dtype=float) for c in columns}
        )
    whole = {**{c: RUNS[c] for c in RUN}, **columns}
    frame = _complete(name, frame, whole, [*(c for c in RUN if c != "bonus_coef"), "steps"])
    frame["bonus_coef"] = frame["bonus_coef"].fillna(0.0)
    if frame["seed"].isna().any():
        raise BadInput(f"{name} has rows without a seed")
    frame["seed"] = frame["seed"].astype(int)
    known = pd.MultiIndex.from_frame(runs[list(RUN)])
    named = pd.MultiIndex.from_frame(frame[list(RUN)].drop_duplicates())
    unknown = named.difference(known)
    if len(unknown):
        raise BadInput(
            f"{name} have rows of a run that is not in the table of runs: "
            f"{describe(pd.Series(unknown[0], index=list(RUN)))}"
        )
    return frame.sort_values([*RUN, "steps"], kind="stable").reset_index(drop=True)


def by_run(frame: pd.DataFrame, value: str) -> Iterator[tuple[tuple[Any, ...], Curve]]:
    """What names each run (`RUN`), and its steps with one column of its curve."""
    steps, values = (frame[column].to_numpy(float) for column in ("steps", value))
    for run, at in frame.groupby(list(RUN), sort=True).indices.items():
        yield cast(tuple[Any, ...], run), (steps[at], values[at])


def records(frame: pd.DataFrame) -> list[Record]:
    """Rows as dictionaries."""
    return frame.to_dict("records")  # type: ignore[return-value]


def describe(run: pd.Series) -> str:
    """'MysteryPath-Grid / sparse / GRU / e3b, seed 3'."""
    return " / ".join(str(run[c]) for c in ARM) + f", seed {int(run['seed'])}"
