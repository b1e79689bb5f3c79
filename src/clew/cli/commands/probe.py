"""`clew probe`: what do the memories of a suite encode?"""

from __future__ import annotations

import json as text
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from clew.cli.commands.report import require_extra
from clew.cli.parsing import SuiteName
from clew.cli.progress import console_for
from clew.cli.registry import register
from clew.cli.training import EXIT_FAILED
from clew.probes import document
from clew.probes.predictions import (
    Grade,
    first_about,
    grade,
    read_predictions,
    read_register,
    study,
)
from clew.probes.predictions import register as register_predictions
from clew.store import Store
from clew.suite import find_suite
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.probes.cells import Cell

STUDY = "study"
STOPPED = 130
"""As a shell says of what Ctrl-C has ended."""
NAMED = 3
"""Runs that are named for each reason why there is no result."""
SHOWN = ("memory", "observation", "untrained", "shuffled", "selectivity")
WHOLE = ("memory", "selectivity")
"""Shown with their intervals; a terminal has no room for more."""
WIDE = 100
"""Columns of a terminal on which an interval fits beside its mean."""


@register("probe")
def probe(
    suite: SuiteName,
    /,
    store: Path = Path("results"),
    episodes: int = 200,
    seed: int = 0,
    predictions: str | None = None,
    json: bool = False,
) -> None:
    """Replay every finished run of a suite and see what can be told from its memory.

    What is found is written into the store; what is there already is not measured again, so that
    the same command goes on after a stop. Ends with 3 if there is no result at all.

    Args:
        suite: A suite that ships (see `clew list`), or a TOML file of your own.
        store: Folder of its results.
        episodes: To replay of every run.
        seed: Of the levels, the untrained memories, the split and the fits.
        predictions: Register these first: `study` for the published ones, or a TOML file.
        json: Print one JSON object a line instead of progress bars and a table.
    """
    require_extra("the table of probes")
    from clew.probes.fitting.each import a_core_each
    from clew.probes.probing import Protocol, probe_runs

    a_core_each()
    protocol = Protocol(episodes, seed)
    runs = find_suite(suite).runs()
    if not store.exists():
        raise BadInput(
            f"store={str(store)!r} does not exist; name the folder of a store, or train: "
            f"{_training(suite, store)}"
        )
    opened, console = Store(store), console_for(json)
    if predictions is not None:
        _register(opened, predictions, console)
    try:
        with _Bars(console, json) as bars:
            probed = probe_runs(opened, runs, protocol, bars)
    except KeyboardInterrupt:
        console.print("stopped early; the same command goes on", style="bold")
        sys.exit(STOPPED)
    fresh = sum(each.fresh for each in probed)
    there = sum(each.document is not None for each in probed) - fresh
    skipped = [(each.run, each.skipped or _nothing(each.document)) for each in probed]
    skipped = [(opened.run(run.config).name, why) for run, why in skipped if why]
    _tell(console, opened, probed, skipped, json)
    console.print(
        f"{len(probed)} runs: {fresh} probed now, {there} before, {len(skipped)} without a result",
        highlight=False,
    )
    if untrained := sum(each.untrained for each in probed):
        console.print(
            f"{untrained} of them are not trained yet; this trains them: "
            f"{_training(suite, store)}",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    if len(skipped) == len(probed):
        sys.exit(EXIT_FAILED)


def _training(suite: str, store: Path) -> str:
    return shlex.join(["clew", "run", suite, "--store", str(store)])


def _register(store: Store, asked: str, console: Console) -> None:
    """Before anything is fitted: what is registered later is no prediction."""
    given = study() if asked == STUDY else read_predictions(Path(asked))
    known = {each.seal for one in read_register(store).registrations for each in one.predictions}
    made = register_predictions(
        store, given, first_results=first_about(given, document.dated(store))
    )
    new = {each.name for each in given if each.seal not in known}
    names = ", ".join(name for name in made.late if name in new)
    late = f"; {names} after the first results that they are about" if names else ""
    console.print(
        f"{len(given)} predictions, registered {made.registered}{late}; hash {made.hash}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _nothing(made: document.Document | None) -> str:
    return document.why_nothing(made) if made else ""


class _Bars:
    """Two bars on a terminal, recording and fitting; a line of JSON a step for a script."""

    def __init__(self, console: Console, as_json: bool) -> None:
        self._as_json = as_json
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=as_json or not console.is_terminal,
        )
        self._tasks = {}

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, step: tuple[str, int, int]) -> None:
        """Show how far it is."""
        what, done, total = step
        if self._as_json:
            print(text.dumps({"what": what, "done": done, "total": total}), flush=True)
            return
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)


def _tell(
    console: Console,
    store: Store,
    probed: Sequence,
    skipped: list[tuple[str, str]],
    as_json: bool,
) -> None:
    from clew.probes.cells import cells, table

    pairs = [(each.run.config, each.document) for each in probed if each.document is not None]
    found = cells(table(pairs))
    kept = read_register(store)
    graded = grade(kept, [o for pair in pairs for o in document.observed(*pair)])
    left = {
        store.run(config).name: document.unconverged(made)
        for config, made in pairs
        if document.unconverged(made)
    }
    if as_json:
        whole = {
            "cells": [cell.plain() for cell in found],
            "skipped": dict(skipped),
            "unconverged": left,
            "check": document.check([made for _, made in pairs]),
            "predictions": [_plain(each) for each in graded],
            "register": kept.problems,
        }
        print(text.dumps(whole))
        return
    for task in dict.fromkeys(cell.task for cell in found):
        console.print(_table([cell for cell in found if cell.task == task], console.width))
    if found:
        console.print(
            "AUC of linear probes, mean over n seeds [95%]; the report has the controls' intervals",
            highlight=False, markup=False, style="dim", soft_wrap=True,
        )  # fmt: skip
    if checked := document.check_sentence([made for _, made in pairs]):
        console.print(checked, highlight=False, markup=False, style="dim", soft_wrap=True)
    if left:
        console.print(
            f"{sum(left.values())} logistic fits did not converge, their AUCs are what was "
            f"reached: {_few(list(left))}",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    lines = [
        f"{each.prediction.name}{' (revised)' if each.revises else ''}: {each.verdict}. "
        f"{each.prediction.statement} {each.reason}"
        for each in graded
    ]
    lines += [
        f"something is wrong with the register of predictions: {one}" for one in kept.problems
    ]
    for line in [*lines, *_grouped(skipped)]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _table(cells: Sequence[Cell], width: int) -> Table:
    """The arms of one task."""
    from clew.analysis import words
    from clew.analysis.names import bonus_label

    shown = Table(title=escape(cells[0].task), title_justify="left", box=None, padding=(0, 1, 0, 0))
    shown.add_column("arm")
    for column in ("n", *SHOWN):
        shown.add_column(column, justify="right", no_wrap=column in WHOLE)
    for cell in cells:
        numbers = [
            cell.text(name) if name in WHOLE else words.number(cell.intervals[name].estimate, 2)
            for name in SHOWN
        ]
        if width < WIDE:
            numbers = [number.replace(" [", "\n[") for number in numbers]
        arm = f"{cell.architecture}, {bonus_label(cell.bonus)}"
        shown.add_row(*map(escape, (arm, str(cell.seeds), *numbers)))
    return shown


def _grouped(skipped: list[tuple[str, str]]) -> list[str]:
    """A line for each reason, naming the first few runs."""
    reasons: dict[str, list[str]] = {}
    for name, why in skipped:
        reasons.setdefault(why, []).append(name)
    return [f"skipped, {why}: {_few(runs)}" for why, runs in reasons.items()]


def _few(runs: list[str]) -> str:
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    return ", ".join(runs[:NAMED]) + more


def _plain(graded: Grade) -> dict[str, object]:
    return {
        "name": graded.prediction.name,
        "statement": graded.prediction.statement,
        "verdict": graded.verdict,
        "reason": graded.reason,
        "registered": graded.registered,
        "late": graded.late,
        "revises": graded.revises,
    }
