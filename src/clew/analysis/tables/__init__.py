"""Every table of the report, from a table of runs.

A table is a function that registers itself in `TABLES`; it lies in this package or anywhere else
that was imported. `every(results)` makes those for which there are data; `FORMATS` writes one down
as Markdown, LaTeX, CSV or HTML.
"""

from __future__ import annotations

from pathlib import Path

from clew.analysis.names import ordered
from clew.analysis.table import Results
from clew.analysis.tables.grid import Cell, Grid
from clew.analysis.tables.render import FORMATS
from clew.registry import Registry

__all__ = ["FORMATS", "TABLES", "Cell", "Grid", "every", "write"]

TABLES: Registry[Grid | list[Grid]] = Registry("table", "clew.analysis.tables")
"""By name: functions from results to one table, or to several. Without rows it is not shown."""
ORDER = (
    "success", "gains", "anova", "dispersion", "separation", "three-way", "by-variant",
    "improvement", "learnt", "memoryless", "iqm", "samples", "falls", "first-success", "magnitude",
    "sweep", "cost", "seed-vectors",
)  # fmt: skip
"""As the study has them; other tables follow."""


def every(results: Results) -> dict[str, Grid]:
    """All tables that have a row, by name, in the order of the study."""
    found: dict[str, Grid] = {}
    usual = results.usual()
    for name in ordered(TABLES.names(), ORDER):
        made = TABLES[name].factory()(results if name == "sweep" else usual)
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
