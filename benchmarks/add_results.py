"""Add runs that were trained on another machine to the folder of results.

`reproduce.py --out FOLDER` or `from_store.py STORE FOLDER` wrote them there, the latter with what
probes found in them.

    python benchmarks/add_results.py retnet gru --to results --commit 1a78a3511ea5

They are numbered on from those that are there. `--commit` is for a machine without git, where the
script could not know it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from clew.probes.reproduction import QUANTITIES
from reproduce import Table, add, append


def read_table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def read(folder: Path) -> Table:
    """A line a run, as `reproduce.table` makes it: both tables of a folder."""
    rows: Table = []
    tables = (read_table(folder / name) for name in ("runs.csv", "curves.csv"))
    for number, (run, curve) in enumerate(zip(*tables, strict=True)):
        if {run.pop("run"), curve.pop("run")} != {str(number)}:
            raise SystemExit(f"{folder}: runs.csv and curves.csv do not both have the runs 0, 1, …")
        rows.append({**run, **curve})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--commit")
    args = parser.parse_args()
    runs: Table = []
    probes: Table = []
    before = args.to / "runs.csv"
    first = len(read_table(before)) if before.exists() else 0
    for folder in args.folders:
        if (probed := folder / "probes.csv").exists():
            start = first + len(runs)
            probes += [{**one, "run": start + int(one["run"])} for one in read_table(probed)]
        runs += [{**row, "commit": args.commit or row["commit"]} for row in read(folder)]
    add(args.to, runs)
    if probes:
        append(args.to / "probes.csv", ("run", "latent", *QUANTITIES), probes)
    print(f"{len(runs)} runs added to {args.to}, {len(probes)} probes")


if __name__ == "__main__":
    main()
