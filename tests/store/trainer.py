"""A stand-in for training: deterministic, chaotic, quick. Run as a script it is one worker.

`python -m tests.store.trainer STORE LOG PACKS PERIODS EVERY PAUSE STALE`: claim packs, train,
store, until all are finished. The log gets a line for every period trained and checkpoint saved.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

from clew.store import Lease, LeaseLost, PackFolder, Store
from tests.store.things import PROVENANCE, config

RUNS = 2
Arrays = dict[str, np.ndarray]


def packs_of(store: Store, packs: int) -> list[PackFolder]:
    return [store.pack([config(RUNS * p + run) for run in range(RUNS)]) for p in range(packs)]


def begin(pack: PackFolder) -> Arrays:
    seeds = np.array([run.config["seed"] for run in pack.runs])
    return {"x": 0.1 + 0.8 / (2 + seeds), "curve": np.zeros((len(seeds), 0))}


def advance(state: Arrays) -> Arrays:
    """The logistic map: one bit lost anywhere would show in everything after it."""
    x = state["x"]
    for _ in range(20):
        x = 3.99 * x * (1 - x)
    return {"x": x, "curve": np.concatenate([state["curve"], x[:, None]], 1)}


def train(pack: PackFolder, lease: Lease, log: Log, periods: int, every: int, pause: float) -> None:
    found = pack.checkpoints.latest()
    step, state = (0, begin(pack)) if found is None else (found.step, found.arrays)
    while step < periods:
        time.sleep(pause)
        step, state = step + 1, advance(state)
        log.write("period", pack.name, step)
        if step % every == 0 and step < periods:
            pack.checkpoints.save(step, state, lease)
            log.write("saved", pack.name, step)
    for run, curve in zip(pack.runs, state["curve"], strict=True):
        run.write_finished(
            {"tail_mean": float(curve[-1])},
            curve={"success": curve},
            diagnostics={"loss": -curve},
            provenance=PROVENANCE,
            lease=lease,
        )
    pack.checkpoints.clear()
    log.write("done", pack.name, step)


class Log:
    """Lines that survive the writer."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def write(self, *words: object) -> None:
        os.write(self._handle, (" ".join(map(str, [*words, os.getpid()])) + "\n").encode())


def work(
    store: Store, log: Log, packs: int, periods: int, every: int, pause: float, stale: float = 60.0
) -> None:
    """The claim loop."""
    claims, todo = store.claims(beat=0.2, stale=stale), packs_of(store, packs)
    while todo := [pack for pack in todo if not pack.finished()]:
        for pack in todo:
            lease = claims.take(pack.name)
            if lease is None:
                continue
            with lease:
                try:
                    if not pack.finished():
                        pack.sweep()
                        train(pack, lease, log, periods, every, pause)
                except LeaseLost:
                    log.write("lost", pack.name, 0)
        time.sleep(0.01)


if __name__ == "__main__":
    root, log = Path(sys.argv[1]), Log(Path(sys.argv[2]))
    print("ready", flush=True)
    work(Store(root), log, *map(int, sys.argv[3:6]), *map(float, sys.argv[6:8]))
