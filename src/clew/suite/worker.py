"""The claim loop, the same everywhere: take a pack that nobody has, train it, take the next."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from clew.store import Lease, LeaseLost, PackFolder, Store
from clew.suite.planning import Planned
from clew.suite.progress import telling
from clew.suite.provenance import provenance
from clew.suite.steps import Watch, over
from clew.suite.stop import Stop
from clew.suite.training import CHECKPOINT_EVERY, train_pack
from clew.validate import BadInput

POLL = 2.0
"""Seconds between two looks at packs that others hold."""


class Outcome(NamedTuple):
    """How it ended, for this worker."""

    finished: int
    """Packs that have come to an end, whoever trained them."""
    left: int
    """Packs that have not."""
    stopped: str
    """Why it ended early; empty if it did not."""


def work(
    store: Store,
    packs: Sequence[Planned],
    stop: Stop,
    watch: Watch,
    *,
    wait: bool = True,
    every: float = CHECKPOINT_EVERY,
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
                    _settle(planned, folder, lease, stop, telling(lease, watch), every)
            if _over(folder):
                todo.remove(each)
                if lease is None:
                    watch(over(folder.name, "found", planned.periods))
            if stop.reason:
                break
        if todo and idle:
            if not wait:
                break
            time.sleep(POLL)
    left = sum(not _over(folder) for _, folder in todo)
    return Outcome(len(packs) - left, left, stop.reason if left else "")


def _settle(
    planned: Planned, folder: PackFolder, lease: Lease, stop: Stop, watch: Watch, every: float
) -> None:
    """Bring a pack that is ours to its end, good or bad, unless there is a reason to stop."""
    if _over(folder):
        return  # somebody was quicker
    folder.sweep()
    try:
        train_pack(planned, folder, lease, stop, watch, every)
    except LeaseLost:
        return  # somebody else has it, and will finish it
    except (BadInput, OSError):
        raise  # not the run's fault: a full disk, a wrong checkpoint
    except Exception as error:
        # one pack's failure is recorded, and the others go on
        with contextlib.suppress(LeaseLost):
            _fail(folder, lease, error)
        watch(over(folder.name, "failed", planned.periods))


def _fail(folder: PackFolder, lease: Lease, error: Exception) -> None:
    told = "".join(traceback.format_exception(error))
    about = {**provenance(), "pack": folder.name, "traceback": told}
    reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    for run in folder.runs:
        if not run.finished():
            run.write_failed(reason, provenance=about, lease=lease)


def _over(folder: PackFolder) -> bool:
    """Whether every run has come to its end: a result, or the record of a failure."""
    return all(run.status in ("finished", "failed", "diverged") for run in folder.runs)
