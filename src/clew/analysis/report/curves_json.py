"""The curves, small enough for a page: bands over seeds, thinned, in whole per mille."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.analysis import names
from clew.analysis.figures.style import bonus_style
from clew.analysis.statistics import Statistics
from clew.analysis.stats.training import band
from clew.validate import BadInput

POINTS = 120
"""Of a curve in the page, at most; thinned by averaging neighbours."""


def curves_payload(statistics: Statistics) -> dict[str, Any]:
    """What report.js draws: tasks, each with its steps and its arms' bands and seeds."""
    found = []
    for task in (found.task for found in statistics.tasks):
        try:
            bands = band(statistics.usual, task.environment, task.reward)
        except BadInput:  # a task without curves is left out of the choice
            continue
        arms = []
        for (architecture, bonus), curve in bands.groupby(["architecture", "bonus"], sort=True):
            values = task.arms.get((str(architecture), str(bonus)), np.empty(0))
            arm: dict[str, Any] = {"architecture": architecture, "bonus": bonus}
            arm["steps"] = _thin(curve["steps"].to_numpy(), 1)
            for column in ("mean", "low", "high"):
                arm[column] = _thin(curve[column].clip(0, 1).to_numpy(), 1000)
            arm["seeds"] = [round(1000 * float(v)) for v in values]
            arms.append(arm)
        found.append({"label": task.label, "arms": arms})
    every = {a["bonus"] for t in found for a in t["arms"]}
    bonuses = names.ordered(every, tuple(names.BONUSES))
    memories = {a["architecture"] for t in found for a in t["arms"]}
    return {
        "tasks": found,
        "architectures": names.ordered(memories, names.ARCHITECTURES),
        "bonuses": [_bonus(b) for b in bonuses],
    }


def _bonus(bonus: str) -> dict[str, str]:
    colour, dash, _ = bonus_style(bonus)
    pattern = "" if isinstance(dash, str) else " ".join(f"{2 * d:g}" for d in dash[1])
    return {"name": bonus, "label": names.bonus_label(bonus), "colour": colour, "dash": pattern}


def _thin(values: np.ndarray, scale: int) -> list[int | None]:
    if len(values) > POINTS:
        values = np.array([np.mean(part) for part in np.array_split(values, POINTS)])
    return [round(scale * float(v)) if np.isfinite(v) else None for v in values]
