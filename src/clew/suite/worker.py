"""A worker, wherever it runs: claim a pack that nobody has, train it, claim the next."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from clew.store import Lease, LeaseLost, PackFolder, Store
from clew.suite.planning import PackSpec, plan
from clew.suite.progress import OnProgress, PackProgress, ended, publishing
from clew.suite.provenance import provenance
from clew.suite.stop import Stop
from clew.suite.suite import Suite
from clew.suite.training import CHECKPOINT_EVERY, train_pack
from clew.validate import BadInput, whole_number

LOGS = "logs"
"""Folder in the store for what launchers and workers leave; results do not depend on it."""
POLL = 2.0
"""Seconds between two looks at packs that others hold."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """What a worker is told, the same for all. It is sent to other machines: paths are absolute."""

    suite: Suite
    store: Path
    pack_size: int | None = None
    """Chosen by the first worker for its device, if not given here."""
    time_limit: float | None = None
    """Seconds that a worker works for."""
    checkpoint_every: float = CHECKPOINT_EVERY
    """Seconds between checkpoints."""

    def __post_init__(self) -> None:
        if self.pack_size is not None:
            whole_number("pack_size", self.pack_size, 1)
        object.__setattr__(self, "store", Path(self.store).absolute())


class Outcome(NamedTuple):
    """How it ended, for this worker."""

    finished: int
    """Packs that have come to an end, whoever trained them."""
    left: int
    """Packs that have not."""
    stopped: str
    """Why it ended early; empty if it did not."""


def run_worker(config: WorkerConfig, stop: Stop) -> Outcome:
    """Train what is not done and not held by another worker, until all is done or `stop` says."""
    store = Store(config.store)
    packs = plan(config.suite, store, config.pack_size)
    logs = config.store / LOGS / "workers"
    name = f"{socket.gethostname()}-{os.getpid()}"
    log = logs / f"{name}.jsonl"
    outcome = work(
        store,
        packs,
        stop,
        lambda progress: write_line(log, progress),
        checkpoint_every=config.checkpoint_every,
    )
    print(f"{name}: {outcome.left} packs left. {outcome.stopped}", flush=True)
    return outcome


def work(
    store: Store,
    packs: Sequence[PackSpec],
    stop: Stop,
    watch: OnProgress,
    *,
    wait: bool = True,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> Outcome:
    """Train whatever is not done yet. With `wait`, stay until packs that others hold are done."""
    provenance()  # of now: a checkout may be changed while it trains
    claims = store.claims()
    todo = [(planned, store.pack([run.config for run in planned.runs])) for planned in packs]
    while todo and not stop.reason:
        idle = True
        for each in list(todo):
            planned, folder = each
            lease = None if _over(folder) else claims.take(folder.name)
            if lease is not None:
                idle = False
                with lease:
                    _settle(
                        planned, folder, lease, stop, publishing(lease, watch), checkpoint_every
                    )
            if _over(folder):
                todo.remove(each)
                if lease is None:
                    watch(ended(folder.name, "found", planned.periods))
            if stop.reason:
                break
        if todo and idle:
            if not wait:
                break
            time.sleep(POLL)
    left = sum(not _over(folder) for _, folder in todo)
    return Outcome(len(packs) - left, left, stop.reason if left else "")


def _settle(
    planned: PackSpec,
    folder: PackFolder,
    lease: Lease,
    stop: Stop,
    watch: OnProgress,
    checkpoint_every: float,
) -> None:
    """Bring a pack that is ours to its end, good or bad, unless there is a reason to stop."""
    if _over(folder):
        return  # somebody was quicker
    folder.sweep()
    try:
        train_pack(planned, folder, lease, stop, watch, checkpoint_every)
    except LeaseLost:
        return  # somebody else has it, and will finish it
    except (BadInput, OSError):
        raise  # not the run's fault: a full disk, a wrong checkpoint
    except Exception as error:
        # one pack's failure is recorded, and the others go on
        with contextlib.suppress(LeaseLost):
            _fail(folder, lease, error)
        watch(ended(folder.name, "failed", planned.periods))


def _fail(folder: PackFolder, lease: Lease, error: Exception) -> None:
    told = "".join(traceback.format_exception(error))
    about = {**provenance(), "pack": folder.name, "traceback": told}
    reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    for run in folder.runs:
        if not run.finished():
            run.write_failed(reason, provenance=about, lease=lease)


def _over(folder: PackFolder) -> bool:
    """Whether checkpoint_every run has come to its end: a result, or the record of a failure."""
    return all(run.status in ("finished", "failed", "diverged") for run in folder.runs)


def write_line(log: Path, progress: PackProgress) -> None:
    """Add a line to the log. A full disk is no error here: the store will report it."""
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), **progress.plain()}) + "\n")
