"""How long it takes to decide what a reward supervises: one process a row, seconds of CPU time.

    python benchmarks/machines.py [--quick] [NAME ...]

prints the table of `docs/concepts/theory.md`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

CASES: dict[str, tuple[str, dict]] = {
    **{
        f"MemoryS{size}, view {view}": (f"MiniGrid-MemoryS{size}", {"view": view})
        for size in (7, 9, 11, 13, 15, 17)
        for view in (3, 5, 7)
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
}
QUICK = ("MemoryS7, view 3", "MemoryS13, view 3", "TinyReproduce k=4 v=2")


def measure(name: str) -> dict:
    """One row, in this process."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from clew import envs
    from clew.machines.certificates.claims import verdict_name
    from clew.machines.deciding.classify import classify
    from clew.machines.model.belief import close
    from clew.machines.worlds import from_env

    world, options = CASES[name]
    began = time.process_time()
    pomdp = from_env(envs.make(world, **options))
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
    if "--row" in sys.argv:
        print(json.dumps(measure(sys.argv[-1])))
    else:
        main()
