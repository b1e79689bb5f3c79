"""Every figure of the study, and the interaction plot; vector output, every seed a dot."""

from __future__ import annotations

from pathlib import Path

from clew.analysis.figures.curves import curves
from clew.analysis.figures.decodability import decodability
from clew.analysis.figures.freeze import freeze
from clew.analysis.figures.interaction import interaction
from clew.analysis.figures.strips import strips
from clew.analysis.figures.style import save
from clew.analysis.table import Results
from clew.analysis.verdict import verdicts

__all__ = ["curves", "decodability", "every", "freeze", "interaction", "save", "strips"]


def every(results: Results, folder: Path) -> list[Path]:
    """Draw all figures that the tables have data for, as SVG, PDF and PNG."""
    usual = results.usual()
    paths = save(strips(usual), folder / "seeds")
    given = verdicts(usual)
    if given:
        paths += save(interaction(given), folder / "interaction")
    e = usual.evaluations
    for environment in e["environment"].unique():
        paths += save(curves(usual, environment), folder / f"curves-{_safe(environment)}")
    falling = e[e["falls"].notna() & (e["reward"] == "penalty")]
    for environment in falling["environment"].unique():
        paths += save(freeze(usual, environment), folder / f"freeze-{_safe(environment)}")
    return paths


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name)
