"""Verdicts that ship with the package, and verdicts that are decided within a time limit.

    python -m clew.machines.tasks.ask MODULES < tasks

reads one task a line, as JSON, and prints one verdict a line as soon as it is decided. MODULES are
those that a user has named, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any

from clew.machines.tasks.task import TaskSpec, TaskVerdict, decide
from clew.plugins import UserModule, modules_in_use, use_again


@cache
def shipped() -> dict[str, TaskVerdict]:
    """What is proved of the study's tasks, by the task's key."""
    text = resources.files("clew.machines.tasks").joinpath("shipped.json").read_text("utf-8")
    return {finding.task.key: finding for finding in map(TaskVerdict.of, json.loads(text))}


def ask(tasks: Sequence[TaskSpec], seconds: float) -> dict[str, TaskVerdict]:
    """Decide in another process, in this order, as many as the time allows; by the task's key."""
    if not tasks or seconds <= 0:
        return {}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "clew.machines.tasks.ask", json.dumps(modules_in_use())],
            input="".join(json.dumps(asdict(task)) + "\n" for task in tasks).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            # an accelerator would be slower, and may be busy
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    return {finding.task.key: finding for finding in _whole(said.decode().split("\n"))}


def _whole(lines: Iterable[str]) -> Iterable[TaskVerdict]:
    """The verdicts of a process that may have been stopped in the middle of a line."""
    *complete, _ = lines
    return (TaskVerdict.of(json.loads(line)) for line in complete)


def _main(lines: Iterable[str]) -> None:
    for line in lines:
        given: dict[str, Any] = json.loads(line)
        print(json.dumps(asdict(decide(TaskSpec(**given)))), flush=True)


if __name__ == "__main__":
    use_again(UserModule(*each) for each in json.loads(sys.argv[1]))
    _main(sys.stdin)
