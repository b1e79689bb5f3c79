"""From a results store to the tables that the analysis reads. The store may still be growing."""

from __future__ import annotations

import dataclasses
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clew.analysis.account import coefficients, common, configuration, reasons
from clew.analysis.recipes import Named, Recipe, differing, named, recipe
from clew.analysis.table import ARM, EVALUATIONS, ROLLOUTS, RUN, Results, results
from clew.machines.tasks import TaskSpec
from clew.metrics import tail_mean
from clew.store import CannotRead, Damaged, RunFolder, RunState, Store, scan
from clew.validate import BadInput

STATUSES = {"begun": "running", "damaged": "missing", "unreadable": "missing"}
"""What the store says → what the analysis says; the rest have one name in both."""
POINTS = 250
"""Of a run's rollouts, at most: neighbours are averaged."""
FALL, PENALTY = "fall", "penalty"
UNNAMED = "its configuration does not name an arm and a seed"

Watch = Callable[[int, int], None]
Columns = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Stored:
    """What a store holds, ready for the report."""

    results: Results
    notes: list[str]
    """What a reader must know: runs kept apart, why runs failed, files that cannot be read."""
    configuration: dict[str, str]
    """How the runs were made."""
    recipes: dict[str, dict[str, Any]]
    """By environment: the hyperparameters that all its runs have in common."""
    tasks: dict[tuple[str, str], TaskSpec]
    """By environment and reward, as the results name them: the world itself."""


class _Kept(NamedTuple):
    """What is read of one finished run."""

    row: dict[str, Any]
    curve: Columns
    rollouts: Columns
    provenance: dict[str, Any]


def read_store(store: Store | str | os.PathLike[str], watch: Watch | None = None) -> Stored:
    """Every run of a store; `watch(done, of)` is told how far it is."""
    if not isinstance(store, Store):
        store = Store(store, read_only=True)
    found = scan(store)
    rows = [row for row in found if {*ARM, "seed"} <= row.config.keys()]
    left = [row for row in found if not {*ARM, "seed"} <= row.config.keys()]
    if not rows:
        raise BadInput(f"{str(store.root)!r} holds no runs yet, so there is nothing to report")
    arms, notes = named([row.config for row in rows])
    notes += [f"{row.name} is left out: {row.reason or UNNAMED}." for row in left]
    kept: list[_Kept] = []
    for done, row in enumerate(rows, 1):
        kept.append(_read(store.run(row.config), row))
        if watch is not None:
            watch(done, len(rows))
    runs = pd.DataFrame(
        [_named_row(arm, row, k) for arm, row, k in zip(arms, rows, kept, strict=True)]
    )
    runs["penalty"] = _penalties(arms, [row.config for row in rows])
    made = results(
        runs,
        _long(runs, [k.curve for k in kept], EVALUATIONS),
        _long(runs, [k.rollouts for k in kept], ROLLOUTS),
    )
    recipes: dict[str, list[Recipe]] = defaultdict(list)
    for arm, row in zip(arms, rows, strict=True):
        recipes[arm.environment].append(recipe(row.config))
    return Stored(
        results=made,
        notes=[*notes, *coefficients(made), *reasons(k.row for k in kept)],
        configuration=configuration(recipes, [k.provenance for k in kept]),
        recipes={name: common(members) for name, members in recipes.items()},
        tasks={
            (arm.environment, arm.reward): TaskSpec.of_run(row.config)
            for arm, row in zip(arms, rows, strict=True)
        },
    )


def unlike(ours: Stored, theirs: Stored) -> list[str]:
    """Where environments that two stores share were not trained alike."""
    shared = [name for name in ours.recipes if name in theirs.recipes]
    return [
        f"{name} was not trained alike in the two stores: {field} is "
        f"{ours.recipes[name].get(field, 'mixed')} here and "
        f"{theirs.recipes[name].get(field, 'mixed')} there."
        for name in shared
        for field in differing([ours.recipes[name], theirs.recipes[name]])
    ]


def _read(run: RunFolder, row: RunState) -> _Kept:
    about: dict[str, Any] = {"status": STATUSES.get(row.status, row.status), "reason": row.reason}
    if row.status not in ("finished", "failed", "diverged"):
        return _Kept(about, {}, {}, {})
    try:
        provenance = run.provenance()
        about["seconds"] = provenance.get("seconds")
        if row.status != "finished":
            return _Kept(about, {}, {}, provenance)
        curve = _curve(run.curve(), row.result.get("events", ()))
        rollouts = _rollouts(run.diagnostics())
    except (Damaged, CannotRead, OSError) as error:
        return _Kept({"status": "missing", "reason": str(error)}, {}, {}, {})
    fields = ("tail_mean", "final_success", "steps", "first_success", "normalised", "delivered")
    about |= {field: row.result.get(field) for field in fields}
    if "falls" in curve:
        about["falls"] = float(tail_mean(np.asarray(curve["falls"], float)))
    return _Kept(about, curve, rollouts, provenance)


def _curve(arrays: Mapping[str, np.ndarray], events: Sequence[str]) -> Columns:
    found = {name: arrays[name] for name in ("steps", "success", "length") if name in arrays}
    if "reward" in arrays:
        found["return"] = arrays["reward"]
    if FALL in events and "events" in arrays:
        found["falls"] = arrays["events"][:, list(events).index(FALL)]
    return found if "steps" in found else {}


def _rollouts(arrays: Mapping[str, np.ndarray]) -> Columns:
    taken = {"raw": "bonus"} | {n: f"report/mean/{n}" for n in ("entropy", "value_loss", "kl")}
    taken |= {n: n for n in ("steps", "explained_variance", "normalised", "delivered")}
    found = {name: arrays[source] for name, source in taken.items() if source in arrays}
    if "report/gradient_norm" in arrays:
        # of the components, which are clipped apart, together
        found["gradient_norm"] = np.linalg.norm(arrays["report/gradient_norm"], axis=-1)
    if "steps" not in found or not len(found["steps"]):
        return {}
    parts = np.array_split(np.arange(len(found["steps"])), min(POINTS, len(found["steps"])))
    starts = [part[0] for part in parts]
    sizes = np.array([len(part) for part in parts])
    thin = {name: np.add.reduceat(x.astype(float), starts) / sizes for name, x in found.items()}
    return {**thin, "steps": found["steps"][[part[-1] for part in parts]]}


def _named_row(arm: Named, row: RunState, kept: _Kept) -> dict[str, Any]:
    names = {**dict(zip(ARM, arm, strict=False)), "bonus_coef": arm.coef}
    return {**names, "seed": row.config["seed"], "tail_mean": np.nan, **kept.row}


def _long(
    runs: pd.DataFrame, curves: Sequence[Columns], columns: Mapping[str, str]
) -> pd.DataFrame | None:
    """One row a point, with the names of its run."""
    there = [index for index, curve in enumerate(curves) if curve]
    if not there:
        return None
    lengths = [len(curves[index]["steps"]) for index in there]
    frame = runs[list(RUN)].iloc[np.repeat(there, lengths)].reset_index(drop=True)
    for column in columns:
        parts = [
            curves[i].get(column, np.full(n, np.nan)) for i, n in zip(there, lengths, strict=True)
        ]
        frame[column] = np.concatenate(parts).astype(float)
    return frame


def _penalties(arms: Sequence[Named], configs: Sequence[Mapping[str, Any]]) -> list[float]:
    """What the variant called penalty takes for a step; of its world's other variants, the same."""
    charged: dict[str, float] = {}
    for arm, config in zip(arms, configs, strict=True):
        prices = config.get("prices", {})
        if config["reward"] == PENALTY and prices:
            charged[arm.environment] = max(0.0, -min(prices.values()))
    return [charged.get(arm.environment, np.nan) for arm in arms]
