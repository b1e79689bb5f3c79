"""Does a memory that succeeds more also encode more? Gain in success against gain in AUC."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from clew.analysis.figures.style import architecture_style, new, styled
from clew.analysis.table import records
from clew.validate import BadInput

COLUMNS = ("task", "architecture", "gain", "gain_low", "gain_high", "auc", "auc_low", "auc_high")

SHORT = 24
"""Longer names of tasks stand one below the other in the legend."""


def decodability(frame: pd.DataFrame) -> Figure:
    """One point for each task and architecture; `COLUMNS` with the bounds of both gains."""
    absent = [c for c in COLUMNS if c not in frame]
    if absent or frame.empty:
        raise BadInput(
            f"gain against decodability needs rows with the columns {', '.join(COLUMNS)}"
        )
    shapes = dict(zip(dict.fromkeys(frame["task"]), ("o", "s", "^", "D", "v", "P"), strict=False))
    with styled():
        figure = new(4.4, 3.2)
        axes = figure.subplots()
        axes.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        for row in records(frame):
            colour, _ = architecture_style(str(row["architecture"]))
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
