"""How far a pack is: what its worker tells, and what others can read of it in the store.

Beside the lease of a pack its holder keeps `progress.json`: the last `PackProgress`, and when it
was written. It is for people to look at: it can be lost or damaged, and nothing is decided by it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.store import CannotRead, CannotWrite, Damaged, Lease, Store
from clew.store.canonical import JsonObject
from clew.store.checkpoints import checkpoints_in
from clew.store.documents import Header, read_document, write_document
from clew.store.leases import Owner
from clew.store.names import NAME
from clew.store.state import ENDED, RunState, inspect_run, scan

if TYPE_CHECKING:
    from clew.learner import Progress

FILE = "progress.json"
EVERY = 5.0
"""Seconds between two writes that differ in their numbers only."""
What = Literal[
    "compiling",
    "training",
    "waiting",
    "stopped",
    "finished",
    "diverged",
    "failed",
    "found",
    "split",
    "separated",
]
REPLACED = ("split", "separated")
"""After these there are other packs in a pack's place."""
OVER = ("finished", "diverged", "failed", "found", *REPLACED)
"""After these a pack needs no worker."""
UNKNOWN = float("nan")
TEXTS = ("name", "what", "holder")


class PackProgress(NamedTuple):
    """How far a pack is."""

    name: str
    what: What
    """found: it had ended before this worker came to it. split: smaller packs have taken its place,
    because it did not fit in memory or its runs were not equally far. separated: the same, because
    it failed and its program has several bonuses; each is now tried alone. diverged: all its runs
    did. waiting: another worker has it, and this one has nothing else to do."""
    period: int
    periods: int
    steps: int = 0
    """Environment steps of all its runs since this worker began with it."""
    seconds: float = 0.0
    """Seconds that these steps took, without compilation."""
    success: float = UNKNOWN
    """Mean over runs at the last evaluation; NaN before the first."""
    compiled: float = 0.0
    """Seconds that training waited for its program to be compiled."""
    left: float = UNKNOWN
    """Seconds that its other periods will take at this pace; NaN before the first."""
    holder: str = ""
    """Who has it, where this worker waits."""

    def plain(self) -> JsonObject:
        """As JSON has it, which does not know NaN."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in self._asdict().items()
        }

    @classmethod
    def of(cls, plain: JsonObject) -> PackProgress:
        """From what `plain` made."""
        told: JsonObject = {name: plain[name] for name in cls._fields if name in plain}
        told |= {name: UNKNOWN for name, value in told.items() if value is None}
        made = cls(**told)
        for name, value in made._asdict().items():
            if type(value) not in ((str,) if name in TEXTS else (int, float)):
                raise ValueError(f"{name}={value!r} is not valid")
        return made


OnProgress = Callable[[PackProgress], None]


def ended(name: str, what: What, periods: int) -> PackProgress:
    """A pack that has ended, where no numbers are known."""
    return PackProgress(name, what, periods, periods)


@dataclass
class ProgressMeter:
    """Counts what one worker does with a pack."""

    name: str
    first: int
    """Periods that were done before."""
    periods: int
    period_steps: int
    """Environment steps of a period, all runs together."""
    period: int = field(init=False)
    seconds: float = 0.0
    success: float = UNKNOWN
    compiled: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.period = self.first

    def add(self, now: Progress) -> None:
        """A period that was trained just now."""
        if self.period == self.first:
            self.compiled = max(0.0, time.perf_counter() - self.began - now.seconds)
        self.period = now.period
        self.seconds += now.seconds
        self.success = _mean(np.asarray(now.record.evaluation.success))

    def now(self, what: What) -> PackProgress:
        """How far the pack is."""
        trained = self.period - self.first
        return PackProgress(
            name=self.name,
            what=what,
            period=self.period,
            periods=self.periods,
            steps=trained * self.period_steps,
            seconds=self.seconds,
            success=self.success,
            compiled=self.compiled,
            left=(self.periods - self.period) * self.seconds / trained if trained else UNKNOWN,
        )


class Published(NamedTuple):
    """What a worker wrote, and when, by its own wall clock."""

    progress: PackProgress
    when: float
    runs: tuple[str, ...] = ()
    """Names of the pack's runs, if they were told."""


def publishing(lease: Lease, watch: OnProgress, runs: Sequence[str] = ()) -> OnProgress:
    """A watcher that also writes what it is told beside the lease, for others to read.

    It raises `LeaseLost` if the lease is lost: the earlier that is known, the less is in vain.
    """
    told, last = "", 0.0

    def publish(progress: PackProgress) -> None:
        nonlocal told, last
        if progress.what != told or time.monotonic() - last >= EVERY:
            told, last = progress.what, time.monotonic()
            lease.check()
            data = {"step": progress.plain(), "when": time.time(), "runs": list(runs)}
            # a full disk is reported when the next checkpoint fails
            with contextlib.suppress(CannotWrite):
                write_document(lease.place / FILE, Header("progress", progress.name), data)
        watch(progress)

    return publish


def last_published(place: Path) -> Published | None:
    """What the holder of a lease wrote last, if it can be read."""
    with contextlib.suppress(
        FileNotFoundError, Damaged, CannotRead, AttributeError, KeyError, TypeError, ValueError
    ):
        told = read_document(place / FILE, Header("progress", place.name))
        runs = tuple(map(str, told.get("runs", ())))
        return Published(PackProgress.of(told["step"]), float(told["when"]), runs)
    return None


class UnfinishedPack(NamedTuple):
    """A pack that somebody has begun and nobody has finished."""

    state: Literal["at work", "stopped", "died", "unreadable"]
    """died: its worker was a process of this machine, and is gone. unreadable: its lease is."""
    last: Published
    holder: Owner | None


def unfinished(store: Store) -> Iterator[UnfinishedPack]:
    """Every pack of a store that is at work, or was left before all its runs had ended."""
    claims = store.claims()
    for place in sorted(claims.folder.glob("*/")):
        last = last_published(place)
        if last is None or last.progress.what in OVER:
            continue
        if last.runs and all(_has_ended(store.runs_folder, run) for run in last.runs):
            continue
        try:
            holder = claims.holder(place.name)
        except CannotRead:
            yield UnfinishedPack("unreadable", last, None)
            continue
        if holder is None:
            if checkpoints_in(store.packs_folder / place.name):
                yield UnfinishedPack("stopped", last, None)
        else:
            yield UnfinishedPack("died" if holder.dead() else "at work", last, holder)


def scan_running(store: Store, *, deep: bool = False) -> list[RunState]:
    """`scan`, where what a worker is at is `running`: what status and report tell."""
    at_work = (pack for pack in unfinished(store) if pack.state == "at work")
    running = {run for pack in at_work for run in pack.last.runs}
    return [
        replace(row, status="running") if row.status == "begun" and row.name in running else row
        for row in scan(store, deep=deep)
    ]


def _has_ended(runs: Path, name: str) -> bool:
    if not NAME.fullmatch(name):
        return False
    return inspect_run(runs / name, deep=False).status in ENDED


def _mean(success: np.ndarray) -> float:
    """Over the runs that have not diverged; NaN if all have."""
    sound = success[~np.isnan(success)]
    return float(sound.mean()) if len(sound) else UNKNOWN
