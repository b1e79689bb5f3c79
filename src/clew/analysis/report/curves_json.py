"""The curves, small enough for a page: bands over seeds, thinned, in whole per mille."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from clew.analysis import names
from clew.analysis.figures.style import bonus_style
from clew.analysis.statistics import Statistics
from clew.analysis.stats.curves import band, thinned
from clew.validate import BadInput

POINTS = 120
"""Of a curve in the page, at most; thinned by averaging neighbours."""


def curves_payload(
    statistics: Statistics, labels: Mapping[tuple[str, str], str]
) -> dict[str, object]:
    """What report.js draws: tasks, each with its label, its steps and its arms' bands and seeds."""
    found = []
    architectures: set[str] = set()
    bonuses: set[str] = set()
    for task in (found.task for found in statistics.tasks):
        try:
            bands = band(statistics.usual, task.environment, task.reward)
        except BadInput:  # a task without curves is left out of the choice
            continue
        arms = []
        for (architecture, bonus), curve in bands.groupby(["architecture", "bonus"], sort=True):
            architectures.add(str(architecture))
            bonuses.add(str(bonus))
            values = task.arms.get((str(architecture), str(bonus)), np.empty(0))
            arm: dict[str, object] = {"architecture": architecture, "bonus": bonus}
            arm["steps"] = _thin(curve["steps"].to_numpy(), 1)
            for column in ("mean", "low", "high"):
                arm[column] = _thin(np.clip(curve[column].to_numpy(), 0, 1), 1000)
            arm["seeds"] = [round(1000 * float(v)) for v in values]
            arms.append(arm)
        found.append({"label": labels[task.environment, task.reward], "arms": arms})
    return {
        "tasks": found,
        "architectures": names.ordered(architectures, names.ARCHITECTURES),
        "bonuses": [_bonus(b, bonuses) for b in names.ordered(bonuses, tuple(names.BONUSES))],
    }


def _bonus(bonus: str, among: set[str]) -> dict[str, str]:
    colour, dash, _ = bonus_style(bonus, among)
    pattern = "" if isinstance(dash, str) else " ".join(f"{2 * d:g}" for d in dash[1])
    return {"name": bonus, "label": names.bonus_label(bonus), "colour": colour, "dash": pattern}


def _thin(values: np.ndarray, scale: int) -> list[int | None]:
    scaled = np.rint(scale * thinned(values, POINTS))
    return [int(v) if math.isfinite(v) else None for v in scaled.tolist()]
