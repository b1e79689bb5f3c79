"""Progress of a suite, live: every pack's bar, and one for the whole."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from clew.suite import Step


class Display:
    """Bars on a terminal; a line of JSON a step for a script; else a line a pack."""

    def __init__(self, console: Console, legs: int, as_json: bool = False) -> None:
        self.console, self.as_json = console, as_json
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
            console=console,
            disable=as_json or not console.is_terminal,
        )
        self._whole = self._bars.add_task("all packs", total=legs, told="")
        self._packs: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, step: Step) -> None:
        """Show where a pack stands."""
        if self.as_json:
            print(json.dumps(_plain(step._asdict())), flush=True)
            return
        self._bars.advance(self._whole, step.leg - self._done.get(step.name, 0))
        self._done[step.name] = step.leg
        if step.what == "found":
            return
        if step.name not in self._packs:
            self._packs[step.name] = self._bars.add_task(step.name, total=step.legs, told="")
        told = _told(step)
        task = self._packs[step.name]
        self._bars.update(task, completed=step.leg, told=told)
        if step.what in ("finished", "stopped", "failed"):
            self._bars.update(task, visible=False)
            words = ", ".join(filter(None, (step.what, told)))
            self.console.print(f"{step.name}: {words}", highlight=False)


def _told(step: Step) -> str:
    if step.what == "compiling":
        return "compiling"
    words = [] if math.isnan(step.success) else [f"success {step.success:.2f}"]
    if step.seconds:
        words.append(f"{step.steps / step.seconds:,.0f} steps/s")
    return ", ".join(words)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in values.items()
    }


def console_for(as_json: bool) -> Console:
    """Words go to stderr when a script reads stdout."""
    return Console(file=sys.stderr if as_json else sys.stdout)
