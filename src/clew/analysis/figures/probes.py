"""What probes tell: AUC beside its controls, as the cue grows old, and beside gains in success."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import names
from clew.analysis.figures.seeds import beeswarm
from clew.analysis.figures.style import (
    INK,
    architecture_style,
    bonus_style,
    legend,
    new,
    panels,
    quiet_grid,
    styled,
)
from clew.analysis.names import bonus_label, task_label
from clew.analysis.results import ARM, records
from clew.validate import BadInput

CONTROLS = {
    "observation": ("#444444", (0, (4, 1.6))),
    "untrained": ("#444444", (0, (1, 1.2))),
    "shuffled": (INK, "solid"),
}
"""Colour and dash of each control's line."""
COLUMNS = (*ARM, "memory", *CONTROLS)
AGES = (*ARM, "low", "high", "features", "auc")
GAINS = ("task", "architecture", "gain", "gain_low", "gain_high", "auc", "auc_low", "auc_high")
SHORT = 24
"""Longer names of tasks stand one below the other in the legend."""


def aucs(frame: pd.DataFrame) -> Figure:
    """A panel for each task, in it the seeds of each architecture; lines are control means."""
    group = _tasks(frame, COLUMNS, "AUC by architecture")
    with styled():
        figure, grid = panels(len(group), 3.4, 2.1)
        for axes, (task, mine) in zip(grid, group.items(), strict=True):
            _strip(axes, mine)
            _title(axes, task)
        legend(figure, grid, loc="outside upper right", fontsize=7)
    return figure


def ages(frame: pd.DataFrame) -> Figure:
    """A panel for each task, a line for each arm: means over seeds; grey: observation alone."""
    group = _tasks(frame, AGES, "AUC by steps since the cue")
    with styled():
        figure, grid = panels(len(group), 3.4, 2.3)
        for axes, (task, mine) in zip(grid, group.items(), strict=True):
            _lines(axes, mine)
            _title(axes, task)
        legend(figure, grid, loc="outside lower center", fontsize=6.5, across=4)
    return figure


def decodability(frame: pd.DataFrame) -> Figure:
    """One point for each task and architecture; `GAINS` with the bounds of both gains."""
    _need(frame, GAINS, "gain in success and AUC")
    shapes = dict(zip(dict.fromkeys(frame["task"]), ("o", "s", "^", "D", "v", "P"), strict=False))
    with styled():
        figure = new(4.4, 3.2)
        axes = figure.subplots()
        axes.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        for row in records(frame):
            colour, _ = architecture_style(str(row["architecture"]), frame["architecture"])
            shape = shapes.get(row["task"], "h")
            axes.errorbar(
                row["gain"], row["auc"], fmt=shape, color=colour, markersize=5.5,
                xerr=[[row["gain"] - row["gain_low"]], [row["gain_high"] - row["gain"]]],
                yerr=[[row["auc"] - row["auc_low"]], [row["auc_high"] - row["auc"]]],
                elinewidth=0.9, markeredgecolor="white", markeredgewidth=0.6,
            )  # fmt: skip
            axes.annotate(
                str(row["architecture"]), (row["gain"], row["auc"]), xytext=(5, 4), fontsize=6.4,
                textcoords="offset points", color=colour,
            )  # fmt: skip
        for task, shape in shapes.items():
            axes.plot([], [], shape, color="#555555", label=str(task), markersize=5)
        figure.legend(
            loc="outside upper left",
            ncols=1 if any(len(task) > SHORT for task in shapes) else len(shapes),
            fontsize=7,
        )
        axes.set_xlabel("gain in success")
        axes.set_ylabel("gain in decodability (AUC)")
    return figure


def _tasks(frame: pd.DataFrame, columns: tuple[str, ...], what: str) -> dict[str, pd.DataFrame]:
    _need(frame, columns, what)
    pairs = frame[["environment", "reward"]].drop_duplicates().itertuples(index=False)
    return {
        task_label(str(e), str(r)): frame[(frame["environment"] == e) & (frame["reward"] == r)]
        for e, r in pairs
    }


def _need(frame: pd.DataFrame, columns: tuple[str, ...], what: str) -> None:
    if frame.empty or any(c not in frame for c in columns):
        raise BadInput(f"{what} needs rows with the columns {', '.join(columns)}")


def _title(axes: Axes, task: str) -> None:
    """A long name in several lines: its neighbour begins where the panel ends."""
    lines = textwrap.wrap(task.replace("[", " [", 1).replace(",", ", "), 34) or [task]
    axes.set_title("\n".join(lines), loc="left", fontweight="bold")


def _strip(axes: Axes, frame: pd.DataFrame) -> None:
    architectures = names.ordered(frame["architecture"], names.ARCHITECTURES)
    bonuses = names.ordered(frame["bonus"], tuple(names.BONUSES))
    step = 0.7 / len(bonuses)
    for i, a in enumerate(architectures):
        mine = frame[frame["architecture"] == a]
        for j, b in enumerate(bonuses):
            values = np.sort(mine[mine["bonus"] == b]["memory"].dropna().to_numpy(float))
            if not len(values):
                continue
            x = i + (j - (len(bonuses) - 1) / 2) * step
            colour, _, mark = bonus_style(b, bonuses)
            axes.plot(
                x + beeswarm(values, step / 9, 0.02), values, mark, color=colour, markersize=4,
                markeredgewidth=0.3, markeredgecolor="white", label=bonus_label(b),
            )  # fmt: skip
            axes.plot((x - step / 3, x + step / 3), [values.mean()] * 2, color=colour, linewidth=2)
        for name, (colour, dash) in CONTROLS.items():
            level = float(mine[name].mean())
            axes.plot(
                (i - 0.42, i + 0.42), (level, level), color=colour, linestyle=dash, linewidth=0.9,
                label=name, zorder=1,
            )  # fmt: skip
    _auc_axis(axes)
    axes.set_xlim(-0.5, len(architectures) - 0.5)
    axes.set_xticks(range(len(architectures)), architectures)


def _lines(axes: Axes, frame: pd.DataFrame) -> None:
    edges = frame[["low", "high"]].drop_duplicates().sort_values("low").astype(int)
    bins = list(edges.itertuples(index=False, name=None))
    place = {low: i for i, (low, _) in enumerate(bins)}
    observation = frame[frame["features"] == "observation"].groupby("low")["auc"].mean()
    axes.plot(
        [place[low] for low in observation.index], observation, color="#b8b8b8", linewidth=2.4,
        label="observation", zorder=1,
    )  # fmt: skip
    memory = frame[frame["features"] == "memory"]
    for a in names.ordered(memory["architecture"], names.ARCHITECTURES):
        for b in names.ordered(memory["bonus"], tuple(names.BONUSES)):
            mine = memory[(memory["architecture"] == a) & (memory["bonus"] == b)]
            means = mine.groupby("low")["auc"].mean()
            if means.empty:
                continue
            colour, mark = architecture_style(a, memory["architecture"])
            _, dash, _ = bonus_style(b, memory["bonus"])
            axes.plot(
                [place[low] for low in means.index], means, color=colour, linestyle=dash,
                marker=mark, markersize=3.2, linewidth=1.2, label=f"{a}, {bonus_label(b)}",
            )  # fmt: skip
    _auc_axis(axes)
    words = [str(low) if low == high else f"{low}–{high}" for low, high in bins]
    axes.set_xticks(range(len(bins)), words, rotation=35, ha="right")
    axes.set_xlabel("steps since the answer was in view")


def _auc_axis(axes: Axes) -> None:
    axes.set_ylim(min(0.35, axes.dataLim.y0 - 0.03), 1.03)
    axes.set_yticks([0.5, 0.75, 1], [".5", ".75", "1"])
    axes.set_ylabel("AUC")
    quiet_grid(axes)
