"""What training costs as the number of runs, the width, the chunk or the world changes.

One thing at a time is changed from TinyReproduce, GRU with E3B under the reading of the suite
`paper`, width 128 and chunks of 64. A line a pack is added to a table:

    python benchmarks/costs.py measure results/costs.csv --runs 1 5 20 60 180
    python benchmarks/costs.py measure results/costs.csv --runs 60 --loops  # without kernels
    python benchmarks/costs.py measure results/costs.csv --width 32 64 128 256
    python benchmarks/costs.py draw results/costs.csv docs/images/costs.svg
    python benchmarks/costs.py table results/costs.csv
    python benchmarks/costs.py packs results/runs.csv  # what packs of the study made
    python benchmarks/costs.py hours results/runs.csv  # and how long all of them took

`--lock FILE` lets several processes compile at once and measure one after another.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

import jax
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew import bonuses, envs, kernels
from clew.learner import Knobs, Pack, Program, Settings
from clew.memory import fused
from clew.suite.library.paper import BONUS_OPTIONS, SETTINGS
from clew.suite.provenance import provenance

WORLDS = {
    "TinyReproduce": ("dense", {}),
    "MiniGrid-MemoryS13": ("sparse", {}),
    "MysteryPath-Grid": ("sparse", {}),
}
BASE = {"world": "TinyReproduce", "architecture": "GRU", "bonus": "e3b", "width": "128",
        "chunk": "64"}  # fmt: skip
COLUMNS = ("date", "device", "jax", *BASE, "runs", "recurrence", "compile_seconds",
           "steps_per_second", "ratio_error")  # fmt: skip
LOOK = {"cpu": ("#0072b2", "two CPU cores"), "gpu": ("#d55e00", "H200")}


def measure(args: argparse.Namespace, point: dict[str, str]) -> dict[str, object]:
    """Whole evaluation periods of one pack, for at least `args.seconds`."""
    reward, options = WORLDS[point["world"]]
    program = Program.of(
        envs.make(point["world"], **options),
        point["architecture"],
        bonuses.make(point["bonus"], **BONUS_OPTIONS.get(point["bonus"], {})),
        Settings(**SETTINGS, memory_width=int(point["width"]), chunk=int(point["chunk"])),
    )
    runs = int(point["runs"])
    pack = Pack.join([Pack.single(program, seed, reward, Knobs()) for seed in range(runs)])
    began = time.perf_counter()
    state = pack.prepare()
    compiled = time.perf_counter() - began
    with contextlib.ExitStack() as held:
        if args.lock:
            fcntl.flock(held.enter_context(open(args.lock, "w")), fcntl.LOCK_EX)
        state, record = jax.block_until_ready(pack.advance(state))
        spent: list[float] = []
        while sum(spent) < args.seconds or len(spent) < 2:
            began = time.perf_counter()
            state, record = jax.block_until_ready(pack.advance(state))
            spent.append(time.perf_counter() - began)
    about = provenance()
    return {
        "date": datetime.date.today().isoformat(),
        "device": about["device"],
        "jax": about["jax"],
        **point,
        "recurrence": "kernel" if kernels.on_nvidia() and not args.loops else "loop",
        "compile_seconds": round(compiled, 1),
        "steps_per_second": round(runs * program.settings.period / min(spent)),
        "ratio_error": f"{float(record.rollouts.report.first_ratio_error.max()):.1e}",
    }


def points(args: argparse.Namespace) -> Iterator[dict[str, str]]:
    """What is asked for; everything else as in `BASE`, with one run."""
    base = {**BASE, "runs": "1", "architecture": args.architecture}
    for name in ("runs", "width", "chunk", "world"):
        for value in getattr(args, name):
            yield {**base, name: value}


def draw(rows: list[dict[str, str]]) -> Figure:
    """A panel for each thing that was changed."""
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    panels = figure.subplots(1, 4)
    for axes, name in zip(panels, ("runs", "width", "chunk", "world"), strict=True):
        for platform, (colour, label) in LOOK.items():
            mine = [row for row in rows if row["device"].startswith(platform)]
            for recurrence, style in (("kernel", "-"), ("loop", "-" if platform == "cpu" else ":")):
                chosen = [row for row in mine if row["recurrence"] == recurrence]
                more = ", as loops" if style == ":" else ""
                curve(axes, name, chosen, style, colour, label + more)
        axes.set_xlabel({"runs": "runs in a pack", "world": ""}.get(name, name))
    panels[0].set_ylabel("environment steps a second")
    panels[0].loglog()
    panels[0].legend(fontsize=6, loc="center right")
    for axes in panels:
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3, which="both", lw=0.4)
    for axes in panels[1:]:
        axes.set_ylim(0)
        axes.yaxis.set_major_formatter(lambda speed, _: f"{speed / 1000:g} k")
    return figure


def curve(
    axes: Axes, name: str, rows: list[dict[str, str]], style: str, colour: str, label: str
) -> None:
    """Of the rows that differ from the base in nothing but this."""
    others = {key: value for key, value in {**BASE, "runs": "1"}.items() if key != name}
    chosen = [row for row in rows if all(row[key] == value for key, value in others.items())]
    newest = {row[name]: float(row["steps_per_second"]) for row in chosen}
    if len(newest) < 2:
        return
    if name == "world":
        names = [world.removeprefix("MiniGrid-").removesuffix("-Grid") for world in newest]
        axes.plot(names, list(newest.values()), "o", ms=4, color=colour)
        axes.tick_params(axis="x", labelrotation=20)
        return
    places = sorted((int(value), speed) for value, speed in newest.items())
    axes.plot(*zip(*places, strict=True), f"o{style}", ms=3, lw=1.2, color=colour, label=label)


def table(rows: list[dict[str, str]]) -> str:
    """A GPU's speed by architecture and runs, the newest; with the loops beside the kernels."""
    speeds: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        if row["device"].startswith("gpu"):
            key = row["architecture"], row["recurrence"]
            speed = float(row["steps_per_second"]) / 1e6
            speeds.setdefault(key, {})[int(row["runs"])] = f"{speed:.2f}"
    runs = sorted({each for found in speeds.values() for each in found})
    lines = [
        f"| architecture, runs | {' | '.join(map(str, runs))} |",
        f"|---|{'---:|' * len(runs)}",
    ]
    for (architecture, recurrence), found in sorted(speeds.items()):
        name = architecture if recurrence == "kernel" else f"{architecture}, as loops"
        lines.append(f"| {name} | {' | '.join(found.get(each, '') for each in runs)} |")
    return "\n".join(lines)


def packs(rows: list[dict[str, str]], since: str = "2026-11-18", least: int = 20) -> str:
    """The study's packs on a GPU: of this size at least, and of runs that this code trained."""
    names = (
        "environment",
        "architecture",
        "date",
        "runs_in_pack",
        "steps",
        "pack_seconds",
        "settings",
    )
    found: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        if row["date"] >= since and int(row["runs_in_pack"]) >= least and "gpu" in row["device"]:
            bonus = found.setdefault(tuple(row[name] for name in names), set())
            bonus.add(f"{row['bonus']} {row['bonus_options']}")
    columns = "world | architecture | day | runs | bonuses in the program | products | M steps/s"
    lines = [f"| {columns} |", "|---|---|---|---:|---:|---|---:|"]
    for (world, architecture, day, runs, steps, seconds, settings), bonus in sorted(found.items()):
        rate = int(runs) * int(steps) / float(seconds) / 1e6
        several = sum(not each.startswith("none") for each in bonus)
        products = "TF32" if "precision=default" in settings else "float32"
        cells = (world, architecture, day, runs, str(several), products, f"{rate:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def hours(rows: list[dict[str, str]]) -> str:
    """What all GPU runs took, by world: packs, and hours without compilation."""
    names = ("environment", "architecture", "runs_in_pack", "pack_seconds", "commit", "settings")
    every = {tuple(row[name] for name in names) for row in rows if "gpu" in row["device"]}
    spent: dict[str, list[float]] = {}
    for pack in every:
        spent.setdefault(pack[0], []).append(float(pack[3]) / 3600)
    parts = [f"{world} {len(h)} packs, {sum(h):.1f} h" for world, h in sorted(spent.items())]
    return f"{'; '.join(parts)}; in all {len(every)} packs, {sum(map(sum, spent.values())):.1f} h"


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("what", choices=("measure", "draw", "table", "packs", "hours"))
    args_of.add_argument("file", type=Path)
    args_of.add_argument("picture", type=Path, nargs="?")
    for name in ("runs", "width", "chunk", "world"):
        args_of.add_argument(f"--{name}", nargs="+", default=[])
    args_of.add_argument("--architecture", default=BASE["architecture"])
    args_of.add_argument("--loops", action="store_true", help="as loops, on a GPU too")
    args_of.add_argument("--seconds", type=float, default=2.5)
    args_of.add_argument("--lock", help="a file that one process at a time may measure with")
    args = args_of.parse_args()
    if args.what == "measure":
        if args.loops:
            fused.fits = lambda *sizes: False
        for point in points(args):
            row = measure(args, point)
            print(row, flush=True)
            new = not args.file.exists()
            with open(args.file, "a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(row)
        return
    with open(args.file, newline="") as file:
        rows = list(csv.DictReader(file))
    if says := {"table": table, "packs": packs, "hours": hours}.get(args.what):
        print(says(rows))
    elif args.picture is None:
        args_of.error("draw needs a picture's path, such as docs/images/costs.svg")
    else:
        draw(rows).savefig(args.picture)


if __name__ == "__main__":
    main()
