"""Every table of the study, in its layout, from a table of runs.

`every(results)` makes those for which there are data; `FORMATS` writes one down as Markdown, LaTeX,
CSV or HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clew.analysis.table import Results
from clew.analysis.tables import arms, spreads, success, training
from clew.analysis.tables.grid import Cell, Grid
from clew.analysis.tables.render import FORMATS

__all__ = ["FORMATS", "Cell", "Grid", "every", "write"]

_BUILDERS: tuple[Callable[[Results], Grid | list[Grid]], ...] = (
    success.success,
    arms.gain_table,
    spreads.anova,
    spreads.dispersion,
    spreads.separations,
    spreads.three_ways,
    spreads.by_variant,
    arms.improvements,
    arms.learnt,
    arms.memoryless,
    arms.aggregates,
    training.samples,
    training.falls_table,
    training.first_success_table,
    training.magnitude,
    training.sweep_table,
    training.cost_table,
    success.seed_vectors,
)


def every(results: Results) -> dict[str, Grid]:
    """All tables that have a row, by name, in the order of the study."""
    found: dict[str, Grid] = {}
    usual = results.usual()
    for build in _BUILDERS:
        made = build(results if build is training.sweep_table else usual)
        for grid in made if isinstance(made, list) else [made]:
            if grid.rows:
                found[grid.name] = grid
    return found


def write(results: Results, folder: Path) -> list[Path]:
    """Every table in every format, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, grid in every(results).items():
        for suffix, render in FORMATS.items():
            path = folder / f"{_safe(name)}.{suffix}"
            path.write_text(render(grid), encoding="utf-8")
            paths.append(path)
    return paths


def _safe(name: str) -> str:
    """A file's name, whatever a world is called."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name)
