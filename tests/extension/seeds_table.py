"""A table of the report: how many seeds every arm has."""

from __future__ import annotations

from clew.analysis import Statistics
from clew.analysis.tables import TABLES, Cell, Grid


@TABLES.register("seeds")
def seeds(statistics: Statistics) -> Grid:
    """One row an arm."""
    runs = statistics.results.runs
    arms = runs.groupby(["environment", "reward", "architecture", "bonus"]).size().reset_index()
    rows = [
        [Cell(" / ".join(map(str, arm))), Cell(str(n))] for *arm, n in arms.itertuples(index=False)
    ]
    return Grid("seeds", "Number of seeds of every arm", ("Arm", "Seeds"), rows)
