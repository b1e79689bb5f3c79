"""Logs of runs while they train: for TensorBoard, and for Weights & Biases.

Both get the same numbers under the same names, at the environment steps that they belong to. The
log of a run that is resumed is made to say what its checkpoint has recorded, and no more, before it
goes on: no point is there twice, and none is missing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from clew.store import RunFolder, Store, require
from clew.suite.tensorboard import TensorBoardLog
from clew.suite.wandb_log import WandbLog
from clew.validate import BadInput, one_of

Kind = Literal["tensorboard", "wandb"]
End = Literal["complete", "stopped", "failed"]
Row = tuple[int, dict[str, float]]
"""Environment steps, and what was recorded then, by name."""
Columns = Mapping[str, np.ndarray]
EVALUATION, TRAINING = "eval", "train"
CALLED = {"eval/reward": "eval/return"}
"""What is recorded under another name than the field's."""


class Log(Protocol):
    """The log of one run. It is made with the rows so far, whatever an earlier one said."""

    def write(self, rows: Sequence[Row]) -> None:
        """Add rows, in the order of their steps."""
        ...

    def close(self, end: End) -> None:
        """No more rows."""
        ...


class LogKind(Protocol):
    """What makes logs of one kind."""

    def __call__(self, root: Path, run: RunFolder, rows: Sequence[Row]) -> Log:
        """Begin a log in a store's folder."""
        ...

    def is_complete(self, root: Path, run: RunFolder) -> bool:
        """Whether there is a log of the run to its end."""
        ...


KINDS: Mapping[Kind, LogKind] = {"tensorboard": TensorBoardLog, "wandb": WandbLog}


def chosen(**asked: bool) -> tuple[Kind, ...]:
    """The kinds that are asked for, if what they need is installed."""
    kinds: tuple[Kind, ...] = tuple(kind for kind in KINDS if asked.get(kind))
    if "wandb" in kinds and importlib.util.find_spec("wandb") is None:
        raise BadInput("--wandb needs wandb, which is not installed: pip install 'clew[wandb]'")
    return kinds


def log_finished(store: Store, runs: Iterable[RunFolder], kinds: Sequence[Kind]) -> list[str]:
    """Log those runs that are finished and have no whole log yet; their names."""
    logged = []
    for run in runs if kinds else ():
        missing = [KINDS[kind] for kind in kinds if not KINDS[kind].is_complete(store.root, run)]
        if missing and run.find(deep=False).status == "finished":
            rows = rows_of_finished(run)
            for kind in missing:
                kind(store.root, run, rows).close("complete")
            logged.append(run.name)
    return logged


def rows_of_finished(run: RunFolder) -> list[Row]:
    """Everything that was recorded of a run."""
    result = require(run.name, "result", run.result(), ("events", "components"))
    curve, diagnostics = run.curve(), run.diagnostics()
    require(run.name, "curve", curve, ["steps"])
    require(run.name, "diagnostics", diagnostics, ["steps"])
    return rows_of(curve, diagnostics, result["events"], result["components"])


def rows_of(
    curve: Columns, diagnostics: Columns, events: Sequence[str], components: Sequence[str]
) -> list[Row]:
    """What was recorded, by environment steps; vectors under the names of their entries."""
    entries = {"events": events, "gradient_norm": components}
    by_step: dict[int, dict[str, float]] = {}
    for part, columns in ((TRAINING, diagnostics), (EVALUATION, curve)):
        for column, values in columns.items():
            if column != "steps":
                for name, series in _series(part, column, values, entries):
                    for step, value in zip(columns["steps"].tolist(), series, strict=True):
                        by_step.setdefault(step, {})[name] = value
    return [(step, dict(sorted(row.items()))) for step, row in sorted(by_step.items())]


class PackLogs:
    """The logs of a pack that is being trained; none, if no kind is asked for."""

    def __init__(self, kinds: Sequence[Kind], root: Path, runs: Sequence[RunFolder]) -> None:
        for kind in kinds:
            one_of("logs", kind, tuple(KINDS))
        self._kinds, self._root, self._runs = kinds, root, runs
        self._logs: list[list[Log]] = []
        self.end: End = "failed"
        """What is to be said of the runs when their logs are closed."""

    def begin(self, rows: Iterable[list[Row]]) -> None:
        """With what each run has recorded so far. A run that is finished is not trained again."""
        for run, so_far in zip(self._runs if self._kinds else (), rows, strict=False):
            self._logs.append([])
            for kind in self._kinds if not run.finished() else ():
                self._logs[-1].append(KINDS[kind](self._root, run, so_far))

    def write(self, rows: Iterable[list[Row]]) -> None:
        """Add what each run has recorded since."""
        for logs, new in zip(self._logs, rows, strict=False):
            for log in logs:
                log.write(new)

    def __enter__(self) -> PackLogs:
        return self

    def __exit__(self, *error: object) -> None:
        for log in (log for logs in self._logs for log in logs):
            log.close(self.end)


def _series(
    part: str, column: str, values: np.ndarray, entries: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[float]]]:
    """A column of numbers by its name in logs; each entry by its own, if it has vectors."""
    # an update's report, and the means in it, are told from the rest by their names
    name = f"{part}/{column.removeprefix('report/').removeprefix('mean/')}"
    name = CALLED.get(name, name)
    if values.ndim == 1:
        yield name, values.tolist()
        return
    for i, entry in enumerate(entries[column.rsplit("/", 1)[-1]]):
        yield f"{name}/{entry}", values[:, i].tolist()
