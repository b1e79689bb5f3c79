"""Tables of training: steps to a threshold, falls, first success, delivered bonus, λ, cost."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from clew.analysis import formatting
from clew.analysis.names import NONE, bonus_label, task_label
from clew.analysis.results import ARM, NEVER, TASK, Record, records
from clew.analysis.statistics import Statistics
from clew.analysis.stats.curves import WINDOW, Sustained, sustained
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, plus_minus, word
from clew.envs import display


@TABLES.register("samples")
def samples_table(statistics: Statistics) -> Grid:
    """Environment steps until the threshold is sustained, or never."""
    bonuses = (NONE, *statistics.bonuses)
    tasks = [found.task for found in statistics.tasks]
    thresholds = [display(task.environment).threshold for task in tasks]
    found = [
        sustained(statistics.usual, task.environment, task.reward, threshold)
        for task, threshold in zip(tasks, thresholds, strict=True)
    ]
    medians = (s.median_of_successful for arms in found for s in arms.values() if s.reached)
    unit, millions = formatting.step_unit(max(medians, default=math.inf))
    sections = [
        (
            f"{task.label}, θ = {threshold:.2f}",
            [
                [word(a), *(sustained_cell(arms.get((a, b)), unit) for b in bonuses)]
                for a in task.memories
            ],
        )
        for task, threshold, arms in zip(tasks, thresholds, found, strict=True)
        if arms
    ]
    return Grid(
        name="samples",
        caption=f"Environment steps ({millions}) until the threshold is sustained: median over the "
        "seeds that did (how many did)",
        columns=("Architecture", *map(bonus_label, bonuses)),
        sections=sections,
        note=f"Sustained: the mean of {WINDOW} evaluations in a row is at least θ; counted to the "
        "last of them.",
    )


@TABLES.register("falls")
def falls_table(statistics: Statistics) -> Grid:
    """Falls of an episode and final success, in worlds where one can fall."""
    runs = statistics.usual.finished
    found = runs[runs["falls"].notna()].groupby(list(ARM), sort=True).agg(
        falls=("falls", "mean"),
        falls_std=("falls", "std"),
        success=("final_success", "mean"),
        success_std=("final_success", "std"),
    ).reset_index()  # fmt: skip
    return _by_arm(
        found,
        lambda row: [
            plus_minus(row["falls"], row["falls_std"], 1),
            plus_minus(row["success"], row["success_std"], 2),
        ],
        name="falls",
        caption="Falls of an episode and success of the last evaluation (mean ± std over seeds)",
        columns=("Falls / episode", "Success"),
    )


@TABLES.register("first-success")
def first_success_table(statistics: Statistics) -> Grid:
    """When each seed first succeeded at all."""
    runs = statistics.usual.finished
    runs = runs[runs["first_success"].notna()].sort_values([*ARM, "seed"])
    found = runs.groupby(list(ARM), sort=True)["first_success"].agg(list).reset_index()

    def cells(row: Record) -> list[Cell]:
        steps = row["first_success"]
        reached = [s for s in steps if s != NEVER]
        text = ", ".join("never" if s == NEVER else f"{s:,.0f}" for s in steps)
        count = figure(f"{len(reached)}/{len(steps)}", len(reached) / len(steps))
        return [count, figure(text, min(reached, default=math.inf))]

    return _by_arm(
        found,
        cells,
        name="first-success",
        caption="Environment steps before each seed's first success",
        columns=("Seeds", "First success (seed by seed)"),
    )


@TABLES.register("magnitude")
def magnitude_table(statistics: Statistics) -> Grid:
    """What a step was paid on average, beside what a step may cost.

    Mean over all seeds and architectures, as the study has it.
    """
    runs = statistics.usual.finished
    runs = runs[(runs["bonus"] != NONE) & runs["delivered"].notna()]
    found = runs.groupby([*TASK, "bonus"], sort=True)[["normalised", "delivered", "penalty"]]
    rows = []
    for row in records(found.mean().reset_index()):
        ratio = row["delivered"] / row["penalty"] if row["penalty"] > 0 else math.nan
        rows.append(
            [
                word(task_label(row["environment"], row["reward"])),
                word(bonus_label(row["bonus"])),
                figure(formatting.number(row["normalised"]), row["normalised"]),
                figure(formatting.number(row["delivered"], 4), row["delivered"]),
                figure(f"{ratio:.1f}×" if math.isfinite(ratio) else formatting.NOTHING, ratio),
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
    runs = statistics.results.finished
    runs = runs[runs["bonus"] != NONE]
    runs = runs[runs.groupby(list(ARM))["bonus_coef"].transform("nunique") > 1]
    found = runs.groupby([*ARM, "bonus_coef"], sort=True)["tail_mean"].agg(["mean", "std", "size"])
    coefficients = sorted(runs["bonus_coef"].unique())
    rows = []
    for arm, group in found.reset_index().groupby(list(ARM), sort=True):
        environment, reward, architecture, bonus = map(str, arm)
        by = {
            row["bonus_coef"]: plus_minus(row["mean"], row["std"], 3, f"n = {row['size']}")
            for row in records(group)
        }
        names = (task_label(environment, reward), architecture, bonus_label(bonus))
        rows.append([*map(word, names), *(by.get(c, EMPTY) for c in coefficients)])
    return Grid(
        name="sweep",
        caption="Success by bonus coefficient λ (mean ± std over seeds)",
        columns=("Task", "Architecture", "Bonus", *(f"λ = {c:g}" for c in coefficients)),
        rows=rows,
        left=3,
    )


@TABLES.register("cost")
def cost_table(statistics: Statistics) -> Grid:
    """What the experiment cost: device-hours are of every run that was started, finished or not.

    Those of a sweep count, too. The study printed the median × the number of runs.
    """
    runs = statistics.results.runs
    runs = runs[runs["seconds"].notna()].assign(hours=runs["seconds"] / 3600)
    done = runs[runs["status"] == "finished"].groupby(list(TASK), sort=True)
    found = pd.DataFrame({"steps": done["steps"].max(), "runs": done.size()})
    found["median"] = done["hours"].median()
    found = found.join(runs.groupby(list(TASK))["hours"].sum(), how="outer").fillna({"runs": 0})
    rows = [
        [
            word(task_label(row["environment"], row["reward"])),
            figure(formatting.steps(row["steps"]), row["steps"]),
            figure(f"{row['runs']:,.0f}", row["runs"]),
            figure(formatting.hours(row["median"], 2), row["median"]),
            figure(formatting.hours(row["hours"], 1), row["hours"]),
        ]
        for row in records(found.reset_index())
    ]
    count, hours = found["runs"].sum(), found["hours"].sum()
    total = [
        Cell("All", "All", bold=True),
        EMPTY,
        figure(f"{count:,.0f}", count, bold=True),
        EMPTY,
        figure(formatting.hours(hours, 1), hours, bold=True),
    ]
    return Grid(
        name="cost",
        caption="Measured cost: finished runs, median device-hours of one, device-hours of all",
        columns=("Task", "Budget", "Runs", "Median h", "Device-hours"),
        sections=[("", rows), ("", [total])] if rows else (),
    )


def sustained_cell(found: Sustained | None, unit: float = 1e6) -> Cell:
    """Steps, usually in millions, and how many seeds did."""
    if found is None:
        return EMPTY
    n = len(found.steps)
    if not found.reached:
        return figure(f"never (0/{n})", math.inf)
    at = found.median_of_successful
    everyone = found.median_of_all
    late = formatting.steps(everyone) if math.isfinite(everyone) else "never"
    text = f"{formatting.large(at, unit)} ({found.reached}/{n})"
    bold = found.reached == n
    return figure(text, at, bold=bold, detail=f"median over all seeds: {late}")


def _by_arm(
    found: pd.DataFrame,
    cells: Callable[[Record], list[Cell]],
    name: str,
    caption: str,
    columns: tuple[str, ...],
) -> Grid:
    """A row for every arm, a section for every task."""
    sections = [
        (
            task_label(*map(str, task)),
            [
                [word(row["architecture"]), word(bonus_label(row["bonus"])), *cells(row)]
                for row in records(arms)
            ],
        )
        for task, arms in found.groupby(list(TASK), sort=False)
    ]
    heads = ("Architecture", "Bonus", *columns)
    return Grid(name, caption, heads, sections=sections, left=2)
