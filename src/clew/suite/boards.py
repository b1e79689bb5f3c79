"""Finished runs for TensorBoard: one folder of event files a run, beside the runs of a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from clew.store import RunFolder, Store
from clew.suite.tensorboard import write_series

FOLDER = "tensorboard"


def write_boards(store: Store, runs: Iterable[RunFolder]) -> list[Path]:
    """Write the files of those runs that are finished and have none yet."""
    written = []
    for run in runs:
        folder = store.root / FOLDER / run.name
        if not any(folder.glob("events.*")) and run.find(deep=False).status == "finished":
            written.append(write_series(folder, scalars(run)))
    return written


def scalars(run: RunFolder) -> dict[str, tuple[list[int], list[float]]]:
    """Everything that was recorded of a run, by tag; vectors under the names of their entries."""
    result = run.result()
    names = {"events": result["events"], "gradient_norm": result["components"]}
    found = {}
    for part, arrays in (("evaluation", run.curve()), ("rollout", run.diagnostics())):
        steps = arrays.pop("steps").tolist()
        for name, values in arrays.items():
            for tag, series in _columns(f"{part}/{name}", values, names):
                found[tag] = (steps, series)
    return found


def _columns(
    tag: str, values: np.ndarray, names: dict[str, list[str]]
) -> list[tuple[str, list[float]]]:
    if values.ndim == 1:
        return [(tag, values.tolist())]
    entries = names[tag.rsplit("/", 1)[-1]]
    return [(f"{tag}/{entry}", values[:, i].tolist()) for i, entry in enumerate(entries)]
