"""Every figure of the study; vector output, every seed a dot."""

from __future__ import annotations

from pathlib import Path

from clew.analysis.figures.curves import PENALTY, curves, freeze
from clew.analysis.figures.probes import ages, aucs, decodability
from clew.analysis.figures.seeds import strips
from clew.analysis.figures.style import save
from clew.analysis.names import file_names
from clew.analysis.statistics import Statistics

__all__ = ["ages", "aucs", "curves", "decodability", "every", "freeze", "save", "strips"]


def every(statistics: Statistics, folder: Path) -> list[Path]:
    """Draw all figures that the tables have data for, as SVG, PDF and PNG."""
    paths = save(strips(statistics), folder / "seeds")
    e = statistics.usual.evaluations
    stems = file_names(e["environment"].unique())
    for environment in e["environment"].unique():
        paths += save(curves(statistics, environment), folder / f"curves-{stems[environment]}")
    falling = e[e["falls"].notna() & (e["reward"] == PENALTY)]
    for environment in falling["environment"].unique():
        paths += save(freeze(statistics, environment), folder / f"freeze-{stems[environment]}")
    return paths
