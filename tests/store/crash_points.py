"""Kill a process before every single call that changes the disk, and go on after each.

For every operation of a store: how many calls does it make? Then, for each of them, in a fresh
store: a child process begins the operation and is killed there; what it left must be sound; doing
the operation again must end where an undisturbed one ends. Prints the number of kills for each.

A script of its own, because it forks: `python -m tests.store.crash_points FOLDER`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.store import Store, merge, scan
from clew.store.state import CURVE
from tests.store.faults import calls_of, kill, nth, watched
from tests.store.things import PROVENANCE, config, contents, finish, outcome

STATE = {"x": np.arange(5.0)}


class Case(NamedTuple):
    prepare: Callable[[Path], object]
    act: Callable[[Path], object]
    """May be done again after it was interrupted anywhere."""


def nothing(root: Path) -> None:
    """An empty store."""
    Store(root)


def failed(root: Path) -> None:
    given = {"provenance": PROVENANCE, "curve": outcome(9)["curve"]}
    Store(root).run(config()).write_failed("why", **given)


def saved(root: Path) -> None:
    for step in (1, 2):
        Store(root).pack([config()]).checkpoints.save(step, STATE)


def spoilt(root: Path) -> None:
    (finish(Store(root)).path / CURVE).write_bytes(b"spoilt")


def retried(root: Path) -> None:
    run = Store(root).run(config())
    run.retry()
    run.write_finished(**outcome())


def mended(root: Path) -> None:
    run = Store(root).run(config())
    if not run.finished():
        run.write_finished(**outcome())


def two_stores(root: Path) -> None:
    source = root / "source"
    finish(Store(source), 1)
    Store(source).run(config(2)).write_failed("why", provenance=PROVENANCE)
    Store(source).pack([config(5)]).checkpoints.save(3, STATE)
    Store(root / "into")


def merged(root: Path) -> None:
    merge(Store(root / "into"), Store(root / "source", read_only=True))


def claimed(root: Path) -> None:
    lease = Store(root).claims(beat=1000, stale=3000).take("pack-00000000")
    assert lease is not None, "left by a dead process, and not to be had"
    lease.confirm()
    lease.release()


CASES = {
    "open": Case(lambda root: None, nothing),
    "finish": Case(nothing, lambda root: Store(root).run(config()).write_finished(**outcome())),
    "fail": Case(nothing, failed),
    "retry": Case(failed, retried),
    "checkpoint": Case(saved, lambda root: Store(root).pack([config()]).checkpoints.save(3, STATE)),
    "clear": Case(saved, lambda root: Store(root).pack([config()]).checkpoints.clear()),
    "mend": Case(spoilt, mended),
    "merge": Case(two_stores, merged),
    "claim": Case(nothing, claimed),
}


def kept(root: Path) -> dict[str, bytes]:
    """What counts: not who claimed it, nor what interrupted writes left for the sweep."""
    files = contents(root)
    skip = ("leases/", ".tmp-", "set-aside/")
    return {name: data for name, data in files.items() if not any(word in name for word in skip)}


def killed_at(n: int, act: Callable[[Path], object], root: Path) -> None:
    child = os.fork()
    if child == 0:
        with watched(nth(n, kill)):
            act(root)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def sound(name: str, root: Path) -> None:
    """Nothing is damaged that was not damaged before."""
    for store in (root, root / "source", root / "into"):
        if (store / "clew-store.json").exists() and name != "mend":
            statuses = {row.status for row in scan(Store(store, read_only=True), deep=True)}
            assert "damaged" not in statuses, (name, statuses)


def every_point(name: str, case: Case, folder: Path) -> int:
    folder.mkdir(parents=True)
    whole = folder / "whole"
    case.prepare(whole)
    calls = calls_of(lambda: case.act(whole))
    expected = kept(whole)
    for n in range(len(calls)):
        root = folder / "broken"
        case.prepare(root)
        killed_at(n, case.act, root)
        sound(name, root)
        case.act(root)
        assert kept(root) == expected, (name, n, calls[n])
        if name == "mend":
            damaged = contents(root / "set-aside")
            assert b"spoilt" in damaged.values(), (n, calls[n])
        shutil.rmtree(root)
    return len(calls)


if __name__ == "__main__":
    os.fsync = lambda handle: None  # counted, but not done: processes are killed, not machines
    base = Path(sys.argv[1])
    print(json.dumps({name: every_point(name, CASES[name], base / name) for name in CASES}))
