"""From a results store to the tables that the analysis reads. The store may still be growing."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.results import ARM, EVALUATIONS, ROLLOUTS, RUN, Results
from clew.analysis.stats.curves import neighbours, thinned
from clew.analysis.swept import swept
from clew.machines.tasks import TaskSpec
from clew.metrics import tail_mean
from clew.store import ENDED, Damaged, RunFolder, RunState, Store, require, scan
from clew.store.arms import (
    ArmName,
    Config,
    Hyperparameters,
    differing,
    hyperparameters,
    name_arms,
    names_an_arm,
)
from clew.store.code import mixed
from clew.store.planned import not_begun
from clew.validate import BadInput, printable

STATUSES = {"begun": "unfinished", "damaged": "missing", "unreadable": "missing"}
"""What the store says → what the analysis says; the rest have one name in both."""
POINTS = 250
"""Of a run's rollouts, at most: neighbours are averaged."""
FALL, PENALTY = "fall", "penalty"
RESULT = (
    "tail_mean", "final_success", "steps", "first_success", "normalised", "delivered", "events",
)  # fmt: skip
CURVE = {name: name for name in ("steps", "success", "length", "events")} | {"reward": "return"}
"""Columns of the store (`clew.store.columns`) that are read, and what the analysis calls them."""
DIAGNOSTICS = {
    **{name: name for name in ("steps", "explained_variance", "normalised", "delivered")},
    **{f"report/mean/{name}": name for name in ("entropy", "value_loss", "kl")},
    "report/gradient_norm": "gradient_norm",
    "bonus": "raw",
}
UNNAMED = "its configuration does not name an arm and a seed"

Watch = Callable[[int, int], None]
Columns = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class StoreContents:
    """What a store holds, ready for the report."""

    results: Results
    notes: list[str]
    """What a reader must know: runs kept apart, why runs failed, files that cannot be read."""
    configuration: dict[str, str]
    """How the runs were made."""
    common: dict[str, Hyperparameters]
    """By environment: the hyperparameters that all its runs have in common."""
    tasks: dict[tuple[str, str], TaskSpec]
    """By environment and reward, as the results name them: the world itself."""


class _ReadRun(NamedTuple):
    """What is read of one run: its columns in the table of runs, and its curves."""

    row: dict[str, object]
    curve: Columns
    rollouts: Columns
    provenance: Mapping[str, object]


def read_store(
    store: Store | str | os.PathLike[str],
    watch: Watch | None = None,
    found: Sequence[RunState] | None = None,
) -> StoreContents:
    """Every run of a store; `watch(done, of)` is told how far it is.

    `found` is what a `scan` gave; `clew.suite.progress.scan_running` also knows what is running.
    """
    if not isinstance(store, Store):
        store = Store(store, read_only=True)
    found = scan(store) if found is None else found
    rows = [row for row in found if names_an_arm(row.config)]
    left = [row for row in found if not names_an_arm(row.config)]
    if not rows:
        raise BadInput(
            f"{str(store.root)!r} holds no runs yet, so there is nothing to report; `clew run` or "
            "`clew train` makes some"
        )
    arms, notes = name_arms([row.config for row in rows])
    notes += [printable(f"{row.name} is left out: {row.reason or UNNAMED}.") for row in left]
    read: list[_ReadRun] = []
    for done, row in enumerate(rows, 1):
        read.append(_read(store.run(row.config), row))
        if watch is not None:
            watch(done, len(rows))
    runs = pd.DataFrame(
        [_named_row(arm, row, one) for arm, row, one in zip(arms, rows, read, strict=True)]
    )
    runs["penalty"] = _penalties(arms, [row.config for row in rows])
    results = Results.from_frames(
        runs,
        _long(runs, [one.curve for one in read], EVALUATIONS),
        _long(runs, [one.rollouts for one in read], ROLLOUTS),
    )
    by_world: dict[str, list[Hyperparameters]] = defaultdict(list)
    for arm, row in zip(arms, rows, strict=True):
        by_world[arm.environment].append(hyperparameters(row.config))
    return StoreContents(
        results=results,
        notes=[
            *mixed((arm.environment, one.provenance) for arm, one in zip(arms, read, strict=True)),
            *notes,
            *swept(results),
            *_reasons(one.row for one in read),
            *_absent(store),
        ],
        configuration=_configuration(by_world, [one.provenance for one in read]),
        common={name: _common(group) for name, group in by_world.items()},
        tasks={
            (arm.environment, arm.reward): TaskSpec.of_run(row.config)
            for arm, row in zip(arms, rows, strict=True)
        },
    )


def differences_in_training(ours: StoreContents, theirs: StoreContents) -> list[str]:
    """Where environments that two stores share were not trained alike."""
    return [
        f"{name} was not trained alike in the two stores: {field} is "
        f"{ours.common[name].get(field, 'mixed')} here and "
        f"{theirs.common[name].get(field, 'mixed')} there."
        for name in ours.common
        if name in theirs.common
        for field in differing([ours.common[name], theirs.common[name]])
    ]


def _read(run: RunFolder, row: RunState) -> _ReadRun:
    about: dict[str, object] = {
        "status": STATUSES.get(row.status, row.status),
        "reason": row.reason,
    }
    if row.status not in ENDED:
        return _ReadRun(about, {}, {}, {})
    try:
        provenance = run.provenance()
        seconds = provenance.get("seconds")
        about["seconds"] = seconds if isinstance(seconds, int | float) else None
        if row.status != "finished":
            return _ReadRun(about, {}, {}, provenance)
        result = require(row.name, "result", row.result, RESULT, row.schema)
        curve = require(row.name, "curve", run.curve(CURVE), CURVE, row.schema)
        recorded = run.diagnostics(DIAGNOSTICS)
        rollouts = require(row.name, "diagnostics", recorded, DIAGNOSTICS, row.schema)
        evaluations = _evaluations(curve, result.pop("events"))
        if "falls" in evaluations:
            about["falls"] = float(tail_mean(np.asarray(evaluations["falls"], float)))
        numbers = {name: float(value) for name, value in result.items()}
        if not 0 <= numbers["tail_mean"] <= 1:
            raise BadInput(f"its tail_mean, {numbers['tail_mean']:g}, is no share of episodes")
        return _ReadRun({**about, **numbers}, evaluations, _rollouts(rollouts), provenance)
    except (BadInput, Damaged, OSError) as error:
        return _ReadRun({"status": "missing", "reason": str(error)}, {}, {}, {})
    except (ValueError, TypeError, LookupError) as error:
        reason = f"{row.name} does not hold what a run does ({error!r})"
        return _ReadRun({"status": "missing", "reason": reason}, {}, {}, {})


def _evaluations(curve: Columns, events: Sequence[str]) -> Columns:
    found = {CURVE[name]: curve[name] for name in curve if name != "events"}
    _require_rows(found)
    if FALL in events:
        found["falls"] = curve["events"][:, list(events).index(FALL)]
    return found


def _rollouts(diagnostics: Columns) -> Columns:
    found = {DIAGNOSTICS[name]: array for name, array in diagnostics.items()}
    # of the components, which are clipped apart, together
    found["gradient_norm"] = np.linalg.norm(found["gradient_norm"], axis=-1)
    _require_rows(found)
    if not len(found["steps"]):
        return {}
    thin = {name: thinned(x.astype(float), POINTS) for name, x in found.items() if name != "steps"}
    starts, sizes = neighbours(len(found["steps"]), POINTS)
    return {**thin, "steps": found["steps"][starts + sizes - 1]}


def _require_rows(columns: Columns) -> None:
    """One number a row in all of them."""
    if {column.shape for column in columns.values()} != {(len(columns["steps"]),)}:
        raise ValueError("its columns are not equally long")
    if any(column.dtype.kind not in "biuf" for column in columns.values()):
        raise ValueError("its columns are not numbers")


def _named_row(arm: ArmName, row: RunState, read: _ReadRun) -> dict[str, object]:
    names = {**dict(zip(ARM, arm, strict=False)), "bonus_coef": arm.coef}
    run = {"seed": row.config["seed"], "run": row.name}
    return {**names, **run, "tail_mean": np.nan, **read.row}


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


def _penalties(arms: Sequence[ArmName], configs: Sequence[Config]) -> list[float]:
    """The step penalty of each run's world, as its variant `penalty` charges it; NaN if unknown."""
    charged: dict[str, float] = {}
    for arm, config in zip(arms, configs, strict=True):
        prices = config.get("prices", {})
        if config["reward"] == PENALTY and prices:
            charged[arm.environment] = max(0.0, -min(prices.values()))
    return [charged.get(arm.environment, np.nan) for arm in arms]


def _reasons(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Why runs are not finished, each reason once."""
    counted = Counter((row["status"], row["reason"]) for row in rows if row["reason"])
    return [printable(f"{n} {status}: {reason}") for (status, reason), n in sorted(counted.items())]


def _absent(store: Store) -> list[str]:
    suite, runs = not_begun(store)
    if not runs:
        return []
    more = "1 run is" if len(runs) == 1 else f"{len(runs):,} runs are"
    return [printable(f"Of the suite {suite}, {more} absent: nobody has begun with them.")]


def _common(group: Sequence[Hyperparameters]) -> Hyperparameters:
    """The hyperparameters that have one value in all of them."""
    mixed = differing(group)
    return {field: value for field, value in group[0].items() if field not in mixed}


def _configuration(
    by_world: Mapping[str, Sequence[Hyperparameters]], provenances: Sequence[Mapping[str, object]]
) -> dict[str, str]:
    """Hyperparameters by environment, then versions and devices."""
    found = {}
    for name, group in sorted(by_world.items()):
        fields = dict.fromkeys(field for chosen in group for field in chosen)
        values = ((f, listed((chosen.get(f, "unset") for chosen in group), "or")) for f in fields)
        found[name] = ", ".join(f"{field} {value}" for field, value in values)
    for field in ("device", "clew", "commit", "jax", "python"):
        if values := [about[field] for about in provenances if about.get(field)]:
            found[f"trained with {field}"] = listed(values, "or")
    return found
