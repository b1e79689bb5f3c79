"""Runs of a store, arm by arm, for a terminal or a script."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clew.cli.output import print_json
from clew.store import RunState, world_name
from clew.store.arms import name_arms, names_an_arm, swept_coefficients
from clew.validate import printable

WORDS = {"begun": "unfinished"}
"""Of a status, where people are told; a report has the same."""


class ArmStatus(NamedTuple):
    """The runs of one arm, in numbers."""

    environment: str
    """With its options, as in `TinyReproduce[k=2]`, and what else was swept, as in a report."""
    reward: str
    architecture: str
    bonus: str
    """With its coefficient, where that was swept."""
    runs: int
    finished: int
    mean: float | None
    """Of the tail means of finished runs."""
    std: float | None
    """Of a sample, as in a report; a single run has none."""


def print_runs(
    console: Console,
    rows: Sequence[RunState],
    counts: Mapping[str, int],
    as_json: bool = False,
    **more: object,
) -> None:
    """Print a table of arms, and every run that failed with its reason; `more` goes into JSON."""
    arms = summarise(rows)
    troubled = [row for row in rows if row.reason]
    if as_json:
        troubles = [{"run": r.name, "status": r.status, "reason": r.reason} for r in troubled]
        plain = [arm._asdict() for arm in arms]
        print_json(json.dumps({"counts": counts, "arms": plain, "troubles": troubles, **more}))
        return
    for (environment, reward), group in groupby(arms, lambda arm: arm[:2]):
        console.print(_table(f"{escape(environment)} / {escape(reward)}", group))
    counted = (f"{number} {WORDS.get(status, status)}" for status, number in counts.items())
    console.print(", ".join(counted) or "no runs")
    for row in troubled:
        line = f"[bold]{row.status}[/bold] {row.name}: {escape(printable(row.reason))}"
        console.print(line, highlight=False)


def summarise(rows: Iterable[RunState]) -> list[ArmStatus]:
    """Every arm among the runs, environments and rewards together."""
    arms: dict[tuple[str, str, str, str], list[RunState]] = defaultdict(list)
    for arm, row in _named([row for row in rows if row.config]):
        arms[arm].append(row)
    summaries = []
    for arm, members in sorted(arms.items(), key=lambda item: item[0][:2]):
        finished = [row.result for row in members if row.status == "finished"]
        told = (result.get("tail_mean") for result in finished)
        tails = [float(tail) for tail in told if isinstance(tail, int | float)]
        mean = float(np.mean(tails)) if tails else None
        std = float(np.std(tails, ddof=1)) if len(tails) > 1 else None
        summaries.append(ArmStatus(*arm, len(members), len(finished), mean, std))
    return summaries


def _named(rows: Sequence[RunState]) -> Iterator[tuple[tuple[str, str, str, str], RunState]]:
    """Each run and its arm, as a report calls it."""
    sound = [row for row in rows if names_an_arm(row.config)]
    arms, _ = name_arms([row.config for row in sound])
    for arm, swept, row in zip(arms, swept_coefficients(arms), sound, strict=True):
        yield (*arm[:3], f"{arm.bonus}, λ = {arm.coef:g}" if swept else arm.bonus), row
    for row in rows:
        if not names_an_arm(row.config):
            # a store may hold configurations of other programs, without these fields
            reward, architecture, bonus = (
                printable(str(row.config.get(field, "")))
                for field in ("reward", "architecture", "bonus")
            )
            yield (world_name(row.config), reward, architecture, bonus), row


def _table(title: str, arms: Iterable[ArmStatus]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("architecture", "bonus"):
        table.add_column(column, overflow="fold")
    for column in ("runs", "finished", "tail mean", "± std"):
        table.add_column(column, justify="right")
    for arm in arms:
        numbers = ("" if number is None else f"{number:.3f}" for number in (arm.mean, arm.std))
        names = map(escape, (arm.architecture, arm.bonus))
        table.add_row(*names, str(arm.runs), str(arm.finished), *numbers)
    return table
