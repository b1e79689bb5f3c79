"""What probes tell: AUC by architecture beside its controls, and AUC as the cue grows old."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import names
from clew.analysis.figures.strips import beeswarm
from clew.analysis.figures.style import INK, architecture_style, bonus_style, new, styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.table import ARM
from clew.validate import BadInput

CONTROLS = {
    "observation": ("#444444", (0, (4, 1.6))),
    "untrained": ("#444444", (0, (1, 1.2))),
    "shuffled": (INK, "solid"),
}
"""Colour and dash of each control's line."""
COLUMNS = (*ARM, "memory", *CONTROLS)
AGES = (*ARM, "low", "high", "features", "auc")
ACROSS = 3


def aucs(frame: pd.DataFrame) -> Figure:
    """A panel a task, a cluster an architecture, a dot a seed; lines are the controls' means."""
    panels = _tasks(frame, COLUMNS, "AUC by architecture")
    with styled():
        figure, grid = _grid(len(panels), 3.4, 2.1)
        for axes, (task, mine) in zip(grid, panels.items(), strict=False):
            _strip(axes, mine)
            _title(axes, task)
        _legend(figure, grid, loc="outside upper right", fontsize=7)
    return figure


def ages(frame: pd.DataFrame) -> Figure:
    """A panel a task, a line an arm: means over seeds; grey is the observation alone."""
    panels = _tasks(frame, AGES, "AUC by steps since the cue")
    with styled():
        figure, grid = _grid(len(panels), 3.4, 2.3)
        for axes, (task, mine) in zip(grid, panels.items(), strict=False):
            _lines(axes, mine)
            _title(axes, task)
        _legend(figure, grid, loc="outside lower center", ncols=4, fontsize=6.5)
    return figure


def _tasks(frame: pd.DataFrame, columns: tuple[str, ...], what: str) -> dict[str, pd.DataFrame]:
    absent = [c for c in columns if c not in frame]
    if absent or frame.empty:
        raise BadInput(f"{what} needs rows with the columns {', '.join(columns)}")
    pairs = frame[["environment", "reward"]].drop_duplicates().itertuples(index=False)
    return {
        task_label(str(e), str(r)): frame[(frame["environment"] == e) & (frame["reward"] == r)]
        for e, r in pairs
    }


def _title(axes: Axes, task: str) -> None:
    """A long name in several lines: its neighbour begins where the panel ends."""
    lines = textwrap.wrap(task.replace("[", " [", 1).replace(",", ", "), 34) or [task]
    axes.set_title("\n".join(lines), loc="left", fontweight="bold")


def _legend(figure: Figure, grid: list[Axes], **how: Any) -> None:
    """One for all panels, each label once."""
    handles = {}
    for axes in grid:
        handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles, **{"ncols": len(handles), **how})


def _grid(panels: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    across = min(panels, ACROSS)
    down = -(-panels // across)
    figure = new(width * across, height * down + 0.5)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in grid[panels:]:
        axes.set_visible(False)
    return figure, grid


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
            colour, _, mark = bonus_style(b)
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
            (colour, mark), (_, dash, _) = architecture_style(a), bonus_style(b)
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
    axes.grid(axis="y", color="#ececec", linewidth=0.6)
    axes.set_axisbelow(True)
