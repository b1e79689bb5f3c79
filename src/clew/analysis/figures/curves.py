"""Over training: learning curves, and what a frozen policy looks like from inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import names
from clew.analysis.figures.seeds import beeswarm
from clew.analysis.figures.style import (
    LINE,
    bonus_style,
    heading,
    legend,
    new,
    quiet_grid,
    styled,
    success_axis,
    wrapped,
)
from clew.analysis.formatting import step_unit
from clew.analysis.names import NONE, bonus_label
from clew.analysis.results import by_run
from clew.analysis.statistics import Statistics
from clew.analysis.stats.curves import aligned, band, thinned
from clew.analysis.stats.task import Task
from clew.validate import BadInput

DIAGNOSTICS = (
    ("evaluations", "falls", "falls / episode"),
    ("evaluations", "length", "episode length"),
    ("evaluations", "success", "success"),
    ("rollouts", "entropy", "policy entropy (nats)"),
    ("rollouts", "value_loss", "critic's loss"),
)

PENALTY = "penalty"
"""The reward under which a policy may freeze."""
POINTS = 100
"""Of a curve, at most: neighbours are averaged, so that many stay a line."""
PANEL = 1.55
"""Inches of a panel."""
BESIDE = 1.5
"""Inches for the labels on the left and the legend on the right."""


def curves(statistics: Statistics, environment: str) -> Figure:
    """Mean success with a 95% t band over seeds; at the right edge, every seed's tail mean."""
    e = statistics.usual.evaluations
    drawn = set(e[e["environment"] == environment]["reward"])
    mine = (found.task for found in statistics.tasks)
    group = [t for t in mine if t.environment == environment and t.reward in drawn]
    if not group:
        raise BadInput(f"{environment} has no learning curves")
    architectures = names.ordered((a for t in group for a in t.architectures), names.ARCHITECTURES)
    unit, millions = step_unit(e[e["environment"] == environment]["steps"].max())
    width = max(3.0, PANEL * len(architectures))
    titles = [wrapped(a, width / len(architectures) - 0.1, bold=False) for a in architectures]
    height = 1.35 * len(group) + 0.9 + LINE * max(title.count("\n") for title in titles)
    with styled():
        figure = new(width + BESIDE, height)
        grid = figure.subplots(
            len(group), len(architectures), squeeze=False, sharex=True, sharey=True
        )
        for row, task in zip(grid, group, strict=True):
            bands = band(statistics.usual, environment, task.reward)
            bands["steps"] /= unit
            for axes, a in zip(row, architectures, strict=True):
                _panel(axes, bands[bands["architecture"] == a], task, a, statistics.bonuses)
            row[0].set_ylabel(task.reward.capitalize(), fontsize=8.5, fontweight="bold")
        for axes, title in zip(grid[0], titles, strict=True):
            axes.set_title(title)
        legend(figure, list(grid.flat), loc="outside right upper", fontsize=8, across=1)
        heading(figure, f"{environment}: success", BESIDE)
        figure.supxlabel(f"environment steps ({millions}); marks: tail means of seeds", fontsize=8)
    return figure


def freeze(statistics: Statistics, environment: str) -> Figure:
    """Under the penalty: the median over all memory architectures' seeds, and the middle half."""
    kept = statistics.usual.only(environment=environment, reward=PENALTY)
    frames = {
        name: frame[~frame["architecture"].isin([kept.lower, kept.upper])]
        for name, frame in (("evaluations", kept.evaluations), ("rollouts", kept.rollouts))
    }
    there = [p for p in DIAGNOSTICS if frames[p[0]][p[1]].notna().any()]
    if not there:
        raise BadInput(f"{environment} / {PENALTY} has no curves of falls, length or entropy")
    unit, millions = step_unit(max(frames[table]["steps"].max() for table, _, _ in there))
    with styled():
        figure = new(2.1 * len(there) + BESIDE, 2.25)
        grid = figure.subplots(1, len(there), squeeze=False)[0]
        for axes, (table, value, title) in zip(grid, there, strict=True):
            _quartiles(axes, frames[table], value, unit, statistics.bonuses)
            axes.set_title(title)
        legend(figure, grid, loc="outside right upper", fontsize=8, across=1)
        heading(figure, f"{names.task_label(environment, PENALTY)}: median over seeds", BESIDE)
        figure.supxlabel(f"environment steps ({millions})", fontsize=8)
    return figure


def _panel(
    axes: Axes, bands: pd.DataFrame, task: Task, architecture: str, among: tuple[str, ...]
) -> None:
    last = 0.0
    for bonus in (NONE, *task.bonuses):
        mine = bands[bands["bonus"] == bonus]
        if mine.empty:
            continue
        colour, dash, _ = bonus_style(bonus, among)
        steps, mean, low, high = (
            thinned(mine[column].to_numpy(), POINTS) for column in ("steps", "mean", "low", "high")
        )
        axes.fill_between(
            steps, low.clip(0), high.clip(max=1), color=colour, alpha=0.16, linewidth=0
        )
        axes.plot(
            steps, mean, color=colour, linestyle=dash, linewidth=1.3, label=bonus_label(bonus)
        )
        last = max(last, mine["steps"].max())
    for i, bonus in enumerate((NONE, *task.bonuses)):
        values = task.arms.get((architecture, bonus))
        if values is None or not last:
            continue
        colour, _, mark = bonus_style(bonus, among)
        x = last * (1.06 + 0.07 * i) + beeswarm(values, 0.008 * last)
        axes.plot(x, values, mark, color=colour, markersize=1.9, markeredgewidth=0, clip_on=False)
    success_axis(axes)
    if last:
        axes.set_xlim(0, last * 1.26)
        axes.set_xticks([0, last / 2, last], ["0", f"{last / 2:.3g}", f"{last:.3g}"])


def _quartiles(
    axes: Axes, frame: pd.DataFrame, value: str, unit: float, among: tuple[str, ...]
) -> None:
    for bonus in names.ordered(set(frame["bonus"]), tuple(names.BONUSES)):
        mine = frame[frame["bonus"] == bonus]
        steps, matrix = aligned([curve for _, curve in by_run(mine, value)])
        low, middle, high = np.nanquantile(matrix, [0.25, 0.5, 0.75], axis=0)
        colour, dash, _ = bonus_style(bonus, among)
        axes.fill_between(steps / unit, low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(
            steps / unit, middle, color=colour, linestyle=dash, linewidth=1.4,
            label=bonus_label(bonus),
        )  # fmt: skip
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlim(left=0)
    quiet_grid(axes)
