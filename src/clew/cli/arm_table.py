"""Tables of runs for a terminal."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clew.store import RunState, Store, count, scan, world_name
from clew.suite import RunSpec

ARM = ("environment", "reward", "architecture", "bonus")


def summary(
    console: Console, store: Store, runs: Iterable[RunSpec], as_json: bool = False
) -> dict[str, int]:
    """How the runs of a suite stand, arm by arm; counts by status."""
    wanted = {run.identity for run in runs}
    rows = [row for row in scan(store) if row.identity in wanted]
    counts = count(rows)
    counts |= {"absent": missing} if (missing := len(wanted) - len(rows)) else {}
    show(console, rows, counts, as_json)
    return counts


def show(
    console: Console,
    rows: Sequence[RunState],
    counts: dict[str, int],
    as_json: bool = False,
    **more: Any,
) -> None:
    """Print a table of arms, and every run that failed with its reason; `more` goes into JSON."""
    if as_json:
        arms = [_numbers(*arm) for arm in _arms(rows)]
        told = [{"run": r.name, "status": r.status, "reason": r.reason} for r in rows if r.reason]
        print(json.dumps({"counts": counts, "arms": arms, "troubles": told, **more}))
        return
    for (environment, reward), arms in groupby(_arms(rows), lambda arm: arm[0][:2]):
        title = f"{escape(environment)} / {escape(reward)}"
        console.print(_table(title, [(name[2:], _numbers(name, rows)) for name, rows in arms]))
    console.print(", ".join(f"{number} {status}" for status, number in counts.items()) or "no runs")
    for row in rows:
        if row.reason:
            words = f"[bold]{row.status}[/bold] {row.name}: {escape(row.reason)}"
            console.print(words, highlight=False)


def _table(title: str, arms: Iterable[tuple[tuple[str, ...], dict[str, Any]]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ARM[2:]:
        table.add_column(column, overflow="fold")
    for column in ("runs", "finished", "tail mean", "± std"):
        table.add_column(column, justify="right")
    for name, found in arms:
        numbers = [found["mean"], found["std"]]
        words = ("" if number is None else f"{number:.3f}" for number in numbers)
        table.add_row(*map(escape, name), str(found["runs"]), str(found["finished"]), *words)
    return table


def _arms(rows: Sequence[RunState]) -> list[tuple[tuple[str, ...], list[RunState]]]:
    arms: dict[tuple[str, ...], list[RunState]] = defaultdict(list)
    for row in rows:
        if row.config:
            # a store may hold what others put there, by other words
            rest = (str(row.config.get(field, "")) for field in ARM[1:])
            arms[world_name(row.config), *rest].append(row)
    return sorted(arms.items(), key=lambda arm: arm[0][:2])


def _numbers(name: tuple[str, ...], members: Sequence[RunState]) -> dict[str, Any]:
    finished = [row.result for row in members if row.status == "finished"]
    tails = [result["tail_mean"] for result in finished if "tail_mean" in result]
    return {
        **dict(zip(ARM, name, strict=True)),
        "runs": len(members),
        "finished": len(finished),
        "mean": float(np.mean(tails)) if tails else None,
        "std": float(np.std(tails)) if tails else None,
    }
