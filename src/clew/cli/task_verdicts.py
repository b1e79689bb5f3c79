"""What is proved of a store's tasks: known from the package or the store, or decided now."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import clew
from clew.cli.trust import untrusted
from clew.envs.registry import environments, hosted
from clew.loading import load
from clew.machines.tasks import TaskSpec, TaskVerdict, ask, shipped
from clew.plugins import FLAG
from clew.store import CannotWrite, Damaged
from clew.store.documents import Header, read_document, write_document
from clew.validate import BadInput

KEPT = "proofs.json"
HEADER = Header("proofs", "store")
DECIDES = ("machines", "envs")
"""The folders of the package that a verdict depends on."""
Tasks = Mapping[tuple[str, str], TaskSpec]


def task_verdicts(store: Path, tasks: Tasks, seconds: float) -> dict[tuple[str, str], TaskVerdict]:
    """A verdict for every task; those decided now are kept in the store for the next time.

    Not so of worlds from outside, whose code may have changed by then.
    """
    known = {**_kept(store), **shipped()}
    new = {t.key: t for t in tasks.values() if t.key not in known and not _obstacle(t)}
    # steps on the host are slow: they do not keep the others waiting
    found = ask(sorted(new.values(), key=lambda task: hosted(task.environment)), seconds)
    if lasting := {key: one for key, one in found.items() if not _from_outside(one.task)}:
        keep(store, {**_kept(store), **lasting})
    known |= found
    return {
        name: known.get(task.key)
        or TaskVerdict(task, refused=_obstacle(task) or _late(task, seconds))
        for name, task in tasks.items()
    }


def _obstacle(task: TaskSpec) -> str:
    """Why it cannot be decided here; empty if it can."""
    if hosted(task.environment):
        if found := untrusted(task.environment, task.options):
            target, module = found
            return (
                f"to decide it, {target!r} would be called, and code that a store names is not "
                f"run unless you name its module, {FLAG} {module}; by hand: {task.command}"
            )
    elif task.environment not in environments.names():
        return (
            f"there is no environment {task.environment!r} here: install the package that "
            f"offers it, or name the module that registers it, {FLAG} NAME"
        )
    return ""


def _late(task: TaskSpec, seconds: float) -> str:
    return f"it was not decided within {seconds:g} s; without a limit: {task.command}"


def _from_outside(task: TaskSpec) -> bool:
    if hosted(task.environment):
        return True
    known = task.environment in environments.names()
    return known and bool(environments[task.environment].origin)


def keep(store: Path, verdicts: Mapping[str, TaskVerdict]) -> None:
    """Write them into a store, each with what decided it."""
    plain = [  # as text: documents sort their keys, and a page lists them in their order
        {"by": classifier(), "finding": json.dumps(asdict(verdict))}
        for verdict in verdicts.values()
    ]
    try:
        write_document(store / KEPT, HEADER, plain)
    except CannotWrite:
        return  # in a store that may only be read, they are decided again each time


@cache
def classifier() -> str:
    """What decides, by content: the package's sources."""
    package = Path(clew.__file__).parent
    files = (file for folder in DECIDES for file in (package / folder).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def _kept(store: Path) -> dict[str, TaskVerdict]:
    """Verdicts of this classifier; what cannot be read counts as none."""
    try:
        entries = [load(each, _Entry, KEPT) for each in read_document(store / KEPT, HEADER)]
    except (FileNotFoundError, Damaged, BadInput, TypeError):
        return {}
    found = {}
    for entry in entries:
        with contextlib.suppress(ValueError, KeyError, RecursionError):
            verdict = _verdict(load(json.loads(entry.finding), dict[str, object], "finding"))
            if entry.by == classifier() and not _from_outside(verdict.task):
                found[verdict.task.key] = verdict
    return found


@dataclass(frozen=True)
class _Entry:
    by: str
    finding: str


def _verdict(plain: Mapping[str, object]) -> TaskVerdict:
    """With the type of every field checked: a store may come from anywhere."""
    from clew.machines.deciding.classify import Summary

    summary = plain["summary"]
    return TaskVerdict(
        load(plain["task"], TaskSpec, "task"),
        None if summary is None else load(summary, Summary, "summary"),
        load(plain["smaller"], dict[str, object], "smaller"),
        load(plain["refused"], str, "refused"),
    )
