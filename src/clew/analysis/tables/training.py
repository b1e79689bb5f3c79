"""Tables of training: steps to a threshold, falls, first success, delivered bonus, λ, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from clew.analysis import formatting
from clew.analysis.names import NONE, bonus_label, task_label
from clew.analysis.results import records
from clew.analysis.statistics import Statistics
from clew.analysis.stats.task import all_bonuses
from clew.analysis.stats.training import (
    WINDOW,
    Sustained,
    cost,
    delivered,
    falls,
    first_success,
    sustained,
    sweep,
)
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word
from clew.envs import display


@TABLES.register("samples")
def samples_table(statistics: Statistics) -> Grid:
    """Environment steps until the threshold is sustained, or never."""
    group = [found.task for found in statistics.tasks]
    bonuses = (NONE, *all_bonuses(group))
    rows: list[list[Cell]] = []
    sections = []
    for task in group:
        threshold = display(task.environment).threshold
        found = sustained(statistics.usual, task.environment, task.reward, threshold)
        if not found:
            continue
        sections.append((len(rows), f"{task.label}, θ = {threshold:.2f}"))
        for a in task.memories:
            rows.append([word(a), *(_sustained(found.get((a, b))) for b in bonuses)])
    return Grid(
        name="samples",
        caption="Environment steps (millions) until the threshold is sustained: median over the "
        "seeds that did (how many did)",
        columns=("Architecture", *map(bonus_label, bonuses)),
        rows=rows,
        sections=sections,
        note=f"Sustained: the mean of {WINDOW} evaluations in a row is at least θ; counted to the "
        "last of them.",
    )


@TABLES.register("falls")
def falls_table(statistics: Statistics) -> Grid:
    """Falls of an episode and final success, in worlds where one can fall."""

    def cells(row: Mapping[str, Any]) -> list[Cell]:
        return [
            _pm(row["falls"], row["falls_std"], 1),
            _pm(row["success"], row["success_std"], 2),
        ]

    return _arms(
        falls(statistics.usual),
        cells,
        name="falls",
        caption="Falls of an episode and success of the last evaluation (mean ± std over seeds)",
        columns=("Falls / episode", "Success"),
    )


@TABLES.register("first-success")
def first_success_table(statistics: Statistics) -> Grid:
    """When each seed first succeeded at all."""

    def cells(row: Mapping[str, Any]) -> list[Cell]:
        steps = list(row["first_success"])
        reached = [s for s in steps if math.isfinite(s)]
        text = ", ".join(f"{s:,.0f}" if math.isfinite(s) else "never" for s in steps)
        count = figure(f"{len(reached)}/{len(steps)}", len(reached) / len(steps))
        return [count, figure(text, min(reached, default=math.inf))]

    return _arms(
        first_success(statistics.usual),
        cells,
        name="first-success",
        caption="Environment steps before each seed's first success",
        columns=("Seeds", "First success (seed by seed)"),
    )


@TABLES.register("magnitude")
def magnitude_table(statistics: Statistics) -> Grid:
    """What a step was paid against what a step may cost."""
    rows = []
    for row in records(delivered(statistics.usual)):
        ratio = (
            f"{row['of_penalty']:.1f}×" if math.isfinite(row["of_penalty"]) else formatting.NOTHING
        )
        rows.append(
            [
                word(task_label(str(row["environment"]), str(row["reward"]))),
                word(bonus_label(str(row["bonus"]))),
                figure(formatting.number(row["normalised"]), row["normalised"]),
                figure(formatting.number(row["delivered"], 4), row["delivered"]),
                figure(ratio, row["of_penalty"]),
            ]
        )
    return Grid(
        name="magnitude",
        caption="Bonus a step, averaged over training, before (b) and after (λb) the coefficient, "
        "against the step penalty",
        columns=("Task", "Bonus", "b", "λb", "vs. penalty"),
        rows=rows,
        left=2,
    )


@TABLES.register("sweep")
def sweep_table(statistics: Statistics) -> Grid:
    """Success of arms that ran with several coefficients λ."""
    found = sweep(statistics.results)
    arms = ["environment", "reward", "architecture", "bonus"]
    several = found.groupby(arms)["bonus_coef"].transform("nunique") > 1
    found = found[several & (found["bonus"] != NONE)]
    coefficients = sorted(found["bonus_coef"].unique())
    rows = []
    for (environment, reward, architecture, bonus), arm in found.groupby(arms, sort=True):
        by = {row["bonus_coef"]: _pm(row["mean"], row["std"], 3, row["n"]) for row in records(arm)}
        cells = [by.get(c, EMPTY) for c in coefficients]
        label = task_label(str(environment), str(reward))
        rows.append([word(label), word(str(architecture)), word(bonus_label(str(bonus))), *cells])
    return Grid(
        name="sweep",
        caption="Success by bonus coefficient λ (mean ± std over seeds)",
        columns=("Task", "Architecture", "Bonus", *(f"λ = {c:g}" for c in coefficients)),
        rows=rows,
        left=3,
    )


@TABLES.register("cost")
def cost_table(statistics: Statistics) -> Grid:
    """What the experiment cost."""
    rows = []
    found = cost(statistics.usual)
    for row in records(found):
        rows.append(
            [
                word(task_label(str(row["environment"]), str(row["reward"]))),
                figure(f"{formatting.large(row['steps'], 0)} M", row["steps"]),
                figure(f"{row['runs']:,.0f}", row["runs"]),
                figure(formatting.number(row["median_hours"], 2), row["median_hours"]),
                figure(f"{row['device_hours']:,.1f}", row["device_hours"]),
            ]
        )
    if not rows:
        return Grid("cost", "", (), [])
    whole = (found["runs"].sum(), found["device_hours"].sum())
    total = [figure(f"{whole[0]:,.0f}", whole[0], True), EMPTY]
    total.append(figure(f"{whole[1]:,.1f}", whole[1], bold=True))
    rows.append([Cell("All", "All", bold=True), EMPTY, *total])
    return Grid(
        name="cost",
        caption="Measured cost: finished runs, median device-hours of one, device-hours of all",
        columns=("Task", "Budget", "Runs", "Median h", "Device-hours"),
        rows=rows,
        sections=[(len(rows) - 1, "")],
    )


def _sustained(found: Sustained | None) -> Cell:
    if found is None:
        return EMPTY
    n = len(found.steps)
    if not found.reached:
        return figure(f"never (0/{n})", math.inf)
    at = found.median_of_successful
    everyone = found.median_of_all
    late = formatting.large(everyone) + " M" if math.isfinite(everyone) else "never"
    detail = f"median over all seeds: {late}"
    text = f"{formatting.large(at)} ({found.reached}/{n})"
    return figure(text, at, bold=found.reached == n, detail=detail)


def _arms(
    found: pd.DataFrame,
    cells: Callable[[Mapping[str, Any]], list[Cell]],
    name: str,
    caption: str,
    columns: tuple[str, ...],
) -> Grid:
    """A row for every arm, a section for every task."""
    rows: list[list[Cell]] = []
    sections = []
    for (environment, reward), arms in found.groupby(["environment", "reward"], sort=False):
        sections.append((len(rows), task_label(str(environment), str(reward))))
        for row in records(arms):
            arm = [word(str(row["architecture"])), word(bonus_label(str(row["bonus"])))]
            rows.append([*arm, *cells(row)])
    return Grid(name, caption, ("Architecture", "Bonus", *columns), rows, (), sections, left=2)


def _pm(mean: float, std: float, decimals: int, n: int | None = None) -> Cell:
    text = formatting.number(mean, decimals)
    if math.isfinite(std):
        text += f" ± {formatting.number(std, decimals)}"
    return figure(text, mean, detail="" if n is None else f"n = {n}")
