"""Every table of the report, from the statistics of a table of runs.

A table is a function that registers itself in `TABLES`; it lies in this package or anywhere else
that was imported. `every` makes those for which there are data; `FORMATS` writes one down as
Markdown, LaTeX, CSV or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from clew.analysis.names import file_names, ordered
from clew.analysis.statistics import Statistics
from clew.analysis.tables.grid import FORMATS, Cell, Grid
from clew.registry import Registry

__all__ = ["FORMATS", "TABLES", "Cell", "Grid", "every", "write"]

TABLES: Registry[Grid | list[Grid]] = Registry("table", "clew.analysis.tables")
"""By name: functions from `Statistics` to a table, or to several. One without rows is not shown."""
ORDER = (
    "success", "gains", "anova", "dispersion", "separation", "three-way", "by-variant",
    "improvement", "learnt", "memoryless", "iqm", "samples", "falls", "first-success", "magnitude",
    "sweep", "cost", "seed-vectors",
)  # fmt: skip
"""As the study has them; other tables follow."""


def every(statistics: Statistics) -> dict[str, Grid]:
    """All tables that have a row, by name."""
    found: dict[str, Grid] = {}
    for name in ordered(TABLES.names(), ORDER):
        made = TABLES[name].factory()(statistics)
        for grid in made if isinstance(made, list) else [made]:
            if grid.rows:
                found[grid.name] = grid
    return found


def write(
    statistics: Statistics,
    folder: Path,
    formats: Iterable[str] = tuple(FORMATS),
    more: Iterable[Grid] = (),
) -> list[Path]:
    """Every table, and those of `more`, in these formats, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    grids = [*every(statistics).values(), *more]
    stems = file_names(grid.name for grid in grids)
    for grid in grids:
        for suffix in formats:
            path = folder / f"{stems[grid.name]}.{suffix}"
            path.write_text(FORMATS[suffix](grid), encoding="utf-8")
            paths.append(path)
    return paths
