"""How long it takes to decide what a reward supervises: one process a row, seconds of CPU time.

    python benchmarks/machines.py [--quick] [NAME ...]
    python benchmarks/machines.py --where NAME
    python benchmarks/machines.py --files FOLDER

prints the table of `docs/concepts/theory.md`, a row of the shares in `docs/performance.md`, or the
table of `docs/concepts/public-pomdps.md` for a folder of .POMDP files.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.machines import Pomdp
    from clew.machines.deciding.classify import Classification

CASES: dict[str, tuple[str, dict]] = {
    **{
        f"MemoryS{size}, view {view}": (f"MiniGrid-MemoryS{size}", {"view": view})
        for size in (7, 9, 11, 13, 15, 17)
        for view in (3, 5, 7)
    },
    **{
        f"MemoryS{size}Random, view 3": (f"MiniGrid-MemoryS{size}Random", {"view": 3})
        for size in (13, 17)
    },
    **{
        f"TinyReproduce k={k} v={v}": ("TinyReproduce", {"k": k, "v": v})
        for k, v in ((2, 2), (4, 2), (6, 2), (3, 4), (4, 4))
    },
    "MysteryPath 3×3, cardinal": ("MysteryPath-Grid", {"size": 3, "actions": "cardinal"}),
    "MysteryPath 3×3": ("MysteryPath-Grid", {"size": 3}),
    "MysteryPath 4×4, cardinal, from the left": (
        "MysteryPath-Grid",
        {"size": 4, "actions": "cardinal", "origin_sides": (0,)},
    ),
    "MysteryPath 4×4, 300 draws": ("MysteryPath-Grid", {"size": 4, "draws": 300}),
    "MysteryPath 5×5, 300 draws": ("MysteryPath-Grid", {"size": 5, "draws": 300}),
}
QUICK = ("MemoryS7, view 3", "MemoryS13, view 3", "TinyReproduce k=4 v=2")


def read(name: str) -> Pomdp:
    """The world of a case."""
    from clew import envs
    from clew.machines.worlds import from_env

    world, options = CASES[name]
    drawn = {key: options[key] for key in ("draws",) if key in options}
    chosen = {key: value for key, value in options.items() if key not in drawn}
    return from_env(envs.make(world, **chosen), **drawn)


def measure(name: str) -> dict:
    """One row, in this process."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from clew.machines.certificates.claims import verdict_name
    from clew.machines.deciding.classify import classify
    from clew.machines.model.belief import close

    began = time.process_time()
    pomdp = read(name)
    enumerated = time.process_time() - began
    beliefs = close(pomdp, 100_000)
    seen: dict[int, int] = {}
    for cell in beliefs.cells:
        seen[cell.observation] = seen.get(cell.observation, 0) + 1
    row = {
        "world": name,
        "states": len(pomdp.states),
        "posteriors": len(beliefs.cells) if beliefs.finite else None,
        "pairs": sum(n * (n - 1) // 2 for n in seen.values()),
        "enumerate_s": enumerated,
    }
    began = time.process_time()
    try:
        answer = classify(pomdp, 100_000)
    except ValueError as error:
        row["refused"] = str(error)
    else:
        row["classify_s"] = time.process_time() - began
        row["verdict"] = verdict_name(answer.verdict)
        row["outcome"] = answer.diagnosis.outcome
        row["encoder"] = len(answer.encoder.machine.states) if answer.encoder else None
        if answer.profile:
            row["supervised"] = {
                v: f"{t.unpoolable:,}/{t.pairs:,}"
                for v, t in answer.profile.variables.items()
                if t.pairs
            }
    row["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return row


PARTS = {
    "posteriors": ("close",),
    "pairs": ("decide_pairs",),
    "machines tried": ("one_state", "density"),
    "verification": ("verify",),
    "optimal play": ("optimal", "ranking", "redundancy"),
    "counts and bound": ("profile", "size_bound"),
}
"""What `classify` calls, and what that is."""


def shares(name: str) -> str:
    """Where the time of deciding one case goes, in %: a row, in this process."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from clew.machines.deciding import classify as module

    spent = dict.fromkeys(PARTS, 0.0)

    def timed(part: str, call: Callable[..., object]) -> Callable[..., object]:
        def measured(*args: object, **options: object) -> object:
            began = time.process_time()
            try:
                return call(*args, **options)
            finally:
                spent[part] += time.process_time() - began

        return measured

    for part, calls in PARTS.items():
        for call in calls:
            setattr(module, call, timed(part, getattr(module, call)))
    pomdp = read(name)
    began = time.process_time()
    module.classify(pomdp, 100_000)
    total = time.process_time() - began
    return f"| {name} | {' | '.join(f'{100 * s / total:.0f}' for s in spent.values())} |"


FILE_SECONDS = 120
"""CPU time that a file gets."""
HEAD = "| file | states × actions × observations | read | posteriors | verdict | s |"


def measure_file(path: Path) -> str:
    """The row of one file, in this process."""
    from clew.machines.deciding.classify import classify
    from clew.validate import BadInput

    resource.setrlimit(resource.RLIMIT_CPU, (FILE_SECONDS, FILE_SECONDS))
    try:
        pomdp, how = as_it_can_be_read(path)
    except BadInput as error:
        return f"| {path.stem} | — | — | — | refused: {error} | — |"
    sizes = f"{len(pomdp.states):,} × {len(pomdp.actions)} × {len(pomdp.observations) - 1}"
    print(f"| {path.stem} | {sizes} | {how} |", flush=True)  # all there is, if time runs out
    began = time.process_time()
    try:
        answer = classify(pomdp)
    except BadInput as error:
        return f"| {path.stem} | {sizes} | {how} | — | refused: {error} | — |"
    seconds = time.process_time() - began
    posteriors = f"{len(answer.beliefs.cells):,}" if answer.beliefs.finite else "not finite"
    said = f"{posteriors} | {in_short(answer)} | {seconds:.1f}"
    return f"| {path.stem} | {sizes} | {how} | {said} |"


def as_it_can_be_read(path: Path) -> tuple[Pomdp, str]:
    """A file as it is, or with rows divided by their sums, or with a discount below 1."""
    from clew.machines.formats.cassandra import parse_pomdp
    from clew.machines.formats.text import Limits
    from clew.validate import BadInput

    text, first = path.read_text("latin-1"), None
    below = re.sub(r"(?m)^(\s*discount\s*:\s*)1(\.0*)?\s*$", r"\g<1>0.95", text)
    for content, discount in ((text, ""), (below, "γ = 1 as .95")):
        for renormalise in (False, True):
            try:
                pomdp = parse_pomdp(content, path.stem, Limits(renormalise=renormalise))
            except BadInput as error:
                first = first or error
            else:
                how = [discount, "renormalised" * renormalise]
                return pomdp, ", ".join(filter(None, how)) or "as it is"
    assert first is not None
    raise first


def in_short(answer: Classification) -> str:
    """The verdict and what proves it."""
    from clew.machines.certificates.claims import NeverPerfect, Sparse, Unencodable, verdict_name

    verdict = answer.verdict
    if isinstance(verdict, Unencodable):
        return "sparse: no finite machine encodes"
    if isinstance(verdict, NeverPerfect):
        return "sparse: no finite machine is perfect; whether one encodes is open"
    if isinstance(verdict, Sparse):
        states = len(verdict.product.machine.states)
        return f"sparse: {states} state{'s' * (states > 1)} encode{'s' * (states == 1)}"
    return verdict_name(verdict)


def files(folder: Path) -> None:
    """The table of a folder."""
    print(HEAD)
    print("|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.POMDP"), key=lambda path: path.stat().st_size):
        command = [sys.executable, __file__, "--file", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines() or [f"| {path.stem} | — | — |"]
        failed = "" if not done.returncode else f" — | not within {FILE_SECONDS} s | — |"
        print(lines[-1] + failed, flush=True)


def main() -> None:
    names = [name for name in sys.argv[1:] if name in CASES]
    if not names:
        names = list(QUICK if "--quick" in sys.argv else CASES)
    print("| world | states | posteriors | pairs | enumerate, s | classify, s | GB | verdict |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        command = [sys.executable, __file__, "--row", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        row = json.loads(done.stdout)
        posteriors = "not finite" if row["posteriors"] is None else f"{row['posteriors']:,}"
        if "refused" in row:
            tail = f"— | {row['gigabytes']:.2f} | refused"
        else:
            supervised = ", ".join(f"{v} {n}" for v, n in row.get("supervised", {}).items())
            encoder = f"{row['encoder']:,} state{'s' * (row['encoder'] != 1)}"
            tail = (
                f"{row['classify_s']:.1f} | {row['gigabytes']:.2f} | {row['verdict']}, "
                f"{row['outcome']}; supervised: {supervised}; encoder of {encoder}"
            )
        print(
            f"| {name} | {row['states']:,} | {posteriors} | {row['pairs']:,} "
            f"| {row['enumerate_s']:.1f} | {tail} |",
            flush=True,
        )


if __name__ == "__main__":
    if "--file" in sys.argv:
        print(measure_file(Path(sys.argv[-1])))
    elif "--files" in sys.argv:
        files(Path(sys.argv[-1]))
    elif "--where" in sys.argv:
        print(f"| task | {' | '.join(PARTS)} |", shares(sys.argv[-1]), sep="\n")
    elif "--row" in sys.argv:
        print(json.dumps(measure(sys.argv[-1])))
    else:
        main()
