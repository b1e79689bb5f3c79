"""What a frozen policy looks like from inside: falls, length, success, entropy, value loss."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import names
from clew.analysis.figures.style import bonus_style, new, styled
from clew.analysis.names import MEMORYLESS, bonus_label
from clew.analysis.stats.learning import aligned
from clew.analysis.table import Results
from clew.validate import BadInput

PANELS = (
    ("evaluations", "falls", "falls / episode"),
    ("evaluations", "length", "episode length"),
    ("evaluations", "success", "success"),
    ("rollouts", "entropy", "policy entropy (nats)"),
    ("rollouts", "value_loss", "critic's loss"),
)


def freeze(results: Results, environment: str, reward: str = "penalty") -> Figure:
    """Median over the seeds of all memory architectures, with the middle half as a band."""
    kept = Results(
        results.runs,
        *(
            frame[
                (frame["environment"] == environment)
                & (frame["reward"] == reward)
                & (frame["architecture"] != MEMORYLESS)
            ]
            for frame in (results.evaluations, results.rollouts)
        ),
    )
    there = [p for p in PANELS if getattr(kept, p[0])[p[1]].notna().any()]
    if not there:
        raise BadInput(f"{environment} / {reward} has no curves of falls, length or entropy")
    with styled():
        figure = new(2.1 * len(there), 2.25)
        grid = figure.subplots(1, len(there), squeeze=False)[0]
        for axes, (table, value, title) in zip(grid, there, strict=True):
            _panel(axes, getattr(kept, table), value)
            axes.set_title(title)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), fontsize=8)
        title = f"{names.task_label(environment, reward)}: median over seeds"
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=9)
        figure.supxlabel("environment steps (millions)", fontsize=8)
    return figure


def _panel(axes: Axes, frame: pd.DataFrame, value: str) -> None:
    for bonus in names.ordered(set(frame["bonus"]), tuple(names.BONUSES)):
        steps, matrix = aligned(frame[frame["bonus"] == bonus], value)
        low, middle, high = np.nanquantile(matrix, [0.25, 0.5, 0.75], axis=0)
        colour, dash, _ = bonus_style(bonus)
        axes.fill_between(steps / 1e6, low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(
            steps / 1e6, middle, color=colour, linestyle=dash, linewidth=1.4,
            label=bonus_label(bonus),
        )  # fmt: skip
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlim(left=0)
    axes.grid(axis="y", color="#ececec", linewidth=0.6)
    axes.set_axisbelow(True)
