"""What is proved of a store's tasks: known from the package or the store, or decided now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import clew
from clew.envs.registry import hosted
from clew.machines.tasks import TaskSpec, TaskVerdict, ask, shipped
from clew.store import CannotWrite
from clew.store.atomic import write

KEPT = "proofs.json"
Tasks = Mapping[tuple[str, str], TaskSpec]


def task_verdicts(store: Path, tasks: Tasks, seconds: float) -> dict[tuple[str, str], TaskVerdict]:
    """A verdict for every task; those decided now are kept in the store for the next time."""
    known = {**_kept(store), **shipped()}
    new = {
        task.key: task
        for task in tasks.values()
        if task.key not in known and not hosted(task.environment)
    }
    found = ask(list(new.values()), seconds)
    if found:
        _keep(store, {**_kept(store), **found})
    known |= found
    return {name: known.get(task.key, _undecided(task, seconds)) for name, task in tasks.items()}


def _undecided(task: TaskSpec, seconds: float) -> TaskVerdict:
    if hosted(task.environment):
        return TaskVerdict(task, refused="A Gymnasium environment does not list its states")
    refused = f"it was not decided within {seconds:g} s; without a limit: {task.command}"
    return TaskVerdict(task, refused=refused)


def _kept(store: Path) -> dict[str, TaskVerdict]:
    """Verdicts of this version; a file that cannot be read counts as none."""
    try:
        plain = json.loads((store / KEPT).read_text(encoding="utf-8"))
        if plain["clew"] != clew.__version__:
            return {}
        return {verdict.task.key: verdict for verdict in map(TaskVerdict.of, plain["findings"])}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _keep(store: Path, verdicts: Mapping[str, TaskVerdict]) -> None:
    plain = {
        "clew": clew.__version__,
        "findings": [asdict(verdict) for verdict in verdicts.values()],
    }
    text = json.dumps(plain, indent=1)
    try:
        write(store / KEPT, lambda file: file.write(text.encode()))
    except CannotWrite:
        return  # in a store that may only be read, they are decided again each time
