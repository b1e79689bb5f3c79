"""Every seed of every arm, so that no mean hides two kinds of run."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis.advice import in_brief, needs
from clew.analysis.answer import of_task
from clew.analysis.figures.style import (
    INK,
    LINE,
    bonus_style,
    legend,
    panels,
    styled,
    success_axis,
    wrapped,
)
from clew.analysis.names import NONE, bonus_label
from clew.analysis.statistics import Statistics
from clew.analysis.stats.task import Task, Values
from clew.validate import BadInput

WIDTH, CELL, ANSWER = 5.4, 0.9, 1.15
"""Inches of a panel, unless its agents need more, each with so much room, or with an answer."""
BESIDE = 0.4
"""Inches of it for the numbers on the left."""


def strips(statistics: Statistics) -> Figure:
    """A row for each task, a cluster for each architecture, a column of dots for each bonus.

    Where there is one bonus, the answer stands under each agent: what to do, what it needs.
    """
    group = [found.task for found in statistics.tasks]
    if not group:
        raise BadInput("no run is finished: there is no seed to draw")
    with styled():
        agents = max(len(task.architectures) for task in group)
        cell = ANSWER if any(len(task.bonuses) == 1 for task in group) else CELL
        width = max(WIDTH, cell * agents + BESIDE)
        labels = [_labels(task, statistics.margin, (width - BESIDE) / agents) for task in group]
        titles = [wrapped(task.label, width - 0.6) for task in group]
        lines = max(title.count("\n") for title in titles)
        lines += max(0, max(label.count("\n") for under in labels for label in under) - 2)
        height = 1.7 + LINE * lines
        figure, grid = panels(len(group), width, height, across=2)
        for axes, task, title, under in zip(grid, group, titles, labels, strict=True):
            _panel(axes, task, statistics.bonuses)
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xticks(range(len(under)), under)
        figure.supylabel("success", fontsize=8)
        legend(figure, grid, loc="outside upper right", fontsize=8)
    return figure


def _panel(axes: Axes, task: Task, among: tuple[str, ...]) -> None:
    bonuses = (NONE, *task.bonuses)
    step = 0.8 / len(bonuses)
    for i, a in enumerate(task.architectures):
        for j, b in enumerate(bonuses):
            if (a, b) not in task.arms:
                continue
            values = task.arms[a, b]
            x = i + (j - (len(bonuses) - 1) / 2) * step
            colour, _, mark = bonus_style(b, among)
            axes.plot(
                x + beeswarm(values, step / 9), values, mark, color=colour, markersize=2.9,
                markeredgewidth=0.3, markeredgecolor="white", label=bonus_label(b), alpha=0.9,
            )  # fmt: skip
            mean = values.mean()
            axes.plot((x - step / 2.6, x + step / 2.6), (mean, mean), color=INK, linewidth=0.9)
    success_axis(axes)
    axes.set_xlim(-0.5, len(task.architectures) - 0.5)
    axes.tick_params(axis="x", length=0)
    for i in range(1, len(task.architectures)):
        axes.axvline(i - 0.5, color="#efefef", linewidth=0.8, zorder=0)


def _labels(task: Task, margin: float, cell: float) -> list[str]:
    """The agents' names, with the answers if there is one bonus; a control is named as one."""
    under = {a: [a] for a in task.architectures}
    if len(task.bonuses) == 1:
        under |= {a.agent: [a.agent, in_brief(a), needs(a)] for a in of_task(task, margin)}
        under[task.upper] = [task.upper, "(a control)"]
    return [
        "\n".join(wrapped(line, cell, 7, bold=False) for line in under[a])
        for a in task.architectures
    ]


def beeswarm(values: Values, width: float, near: float = 0.035) -> Values:
    """Offsets that keep sorted values that are nearly equal side by side."""
    offsets = np.zeros(len(values))
    start = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] - values[start] > near:
            size = i - start
            # places to both sides of the middle, in no order: a sorted one looks like a curve
            places = np.arange(size) - (size - 1) / 2
            taken = np.random.default_rng(size).permutation(places)
            offsets[start:i] = taken * width * min(1.0, 8 / size)
            start = i
    return offsets
