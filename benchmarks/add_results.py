"""Add runs that `reproduce.py --out FOLDER` wrote on another machine to the folder of results.

    python benchmarks/add_results.py retnet gru --to results --commit 1a78a3511ea5

They are numbered on from those that are there. `--commit` is for a machine without git, where the
script could not know it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from reproduce import Table, add


def read(folder: Path) -> Table:
    """A line a run, as `reproduce.table` makes it: both tables of a folder."""
    tables = []
    for name in ("runs.csv", "curves.csv"):
        with open(folder / name, newline="") as file:
            tables.append(list(csv.DictReader(file)))
    rows: Table = []
    for run, curve in zip(*tables, strict=True):
        if run.pop("run") != curve.pop("run"):
            raise SystemExit(f"{folder}: runs.csv and curves.csv do not have the same runs")
        rows.append({**run, **curve})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--commit")
    args = parser.parse_args()
    new = [row for folder in args.folders for row in read(folder)]
    add(args.to, [{**row, "commit": args.commit or row["commit"]} for row in new])
    print(f"{len(new)} runs added to {args.to}")


if __name__ == "__main__":
    main()
