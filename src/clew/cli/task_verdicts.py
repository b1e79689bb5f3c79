"""What is proved of a store's tasks: known from the package or the store, or decided now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import clew
from clew.envs.registry import environments, names
from clew.machines.tasks import TaskSpec, TaskVerdict, ask, shipped
from clew.plugins import FLAG
from clew.store import CannotWrite
from clew.store.atomic import write

KEPT = "proofs.json"
Tasks = Mapping[tuple[str, str], TaskSpec]


def task_verdicts(store: Path, tasks: Tasks, seconds: float) -> dict[tuple[str, str], TaskVerdict]:
    """A verdict for every task; those decided now are kept in the store for the next time.

    Not so of worlds from outside, whose code may have changed by then.
    """
    known = {**_kept(store), **shipped()}
    new = {
        task.key: task
        for task in tasks.values()
        if task.environment in names() and (task.key not in known or _from_outside(task))
    }
    found = ask(list(new.values()), seconds)
    if lasting := {key: one for key, one in found.items() if not _from_outside(one.task)}:
        _keep(store, {**_kept(store), **lasting})
    known |= found
    return {name: known.get(task.key, _undecided(task, seconds)) for name, task in tasks.items()}


def _from_outside(task: TaskSpec) -> bool:
    return task.environment in names() and bool(environments[task.environment].origin)


def _undecided(task: TaskSpec, seconds: float) -> TaskVerdict:
    if task.environment not in names():
        return TaskVerdict(
            task,
            refused=f"there is no environment {task.environment!r} here: install the package that "
            f"offers it, or name the module that registers it, {FLAG} NAME",
        )
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
