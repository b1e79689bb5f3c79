"""Where packs stand, told through the store, for whoever looks in from outside.

Beside the lease of a pack its holder keeps `progress.json`: the last `Step`, and when it was told.
It is news and not data. It can be lost or spoilt, and nothing is decided by it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from clew.store import CannotRead, CannotWrite, Damaged, Lease, Store, scan
from clew.store.checkpoints import checkpoints_in
from clew.store.documents import Header, read_document, write_document
from clew.store.leases import Owner
from clew.suite.planning import planned
from clew.suite.steps import OVER, Step, Watch, over
from clew.suite.suite import Suite

FILE = "progress.json"
EVERY = 5.0
"""Seconds between two that say the same but for the numbers."""


class News(NamedTuple):
    """What was told, and when by the wall clock of whoever told it."""

    step: Step
    when: float


def telling(lease: Lease, watch: Watch) -> Watch:
    """Watch, and tell it through the store too."""
    told, last = "", 0.0

    def both(step: Step) -> None:
        nonlocal told, last
        if step.what != told or time.monotonic() - last >= EVERY:
            told, last = step.what, time.monotonic()
            data = {"step": step.plain(), "when": time.time()}
            # a disk that is full refuses the next checkpoint too, which is when it matters
            with contextlib.suppress(CannotWrite):
                write_document(lease.place / FILE, Header("progress", step.name), data)
        watch(step)

    return both


def last_news(place: Path) -> News | None:
    """What the holder of a lease told last, if it can be read."""
    with contextlib.suppress(
        FileNotFoundError, Damaged, CannotRead, KeyError, TypeError, ValueError
    ):
        told = read_document(place / FILE, Header("progress", place.name))
        return News(Step.of(told["step"]), float(told["when"]))
    return None


class Sightings:
    """What other processes do with the packs of a suite, as the same steps that they see."""

    def __init__(self, store: Store, suite: Suite) -> None:
        self._store, self._suite = store, suite
        self.periods: int | None = None
        """Of all packs; None until the first worker has made a plan."""
        self._left: dict[str, int] = {}
        self._seen: dict[str, float] = {}
        # what is there before anybody has begun is old
        self._ended = list(self._look_at_plan(old=True))

    def news(self) -> Iterator[Step]:
        """What has been told since the last call."""
        yield from self._ended
        self._ended = []
        if self.periods is None:
            yield from self._look_at_plan(old=False)
        for name in list(self._left):
            found = last_news(self._place(name))
            if found is None or found.when == self._seen.get(name):
                continue
            self._seen[name] = found.when
            if found.step.what in OVER:
                del self._left[name]
            yield found.step

    def _look_at_plan(self, *, old: bool) -> Iterator[Step]:
        packs = None
        with contextlib.suppress(CannotRead):  # the workers will say so
            packs = planned(self._suite, self._store)
        if packs is None:
            return
        self.periods = sum(pack.periods for pack in packs)
        ends = {"finished", "failed", "diverged"}
        done = {row.identity for row in scan(self._store) if row.status in ends}
        for pack in packs:
            name = self._store.pack([run.config for run in pack.runs]).name
            if all(run.identity in done for run in pack.runs):
                yield over(name, "found", pack.periods)
                continue
            self._left[name] = pack.periods
            if old and (before := last_news(self._place(name))):
                self._seen[name] = before.when

    def _place(self, name: str) -> Path:
        return self._store.claims().folder / name


class Standing(NamedTuple):
    """A pack that somebody has begun and nobody has finished."""

    state: Literal["at work", "stopped", "died"]
    """died: its worker was a process of this machine, and is gone."""
    news: News
    holder: Owner | None


def unfinished(store: Store) -> Iterator[Standing]:
    """Every pack of a store that is at work, or was left."""
    claims = store.claims()
    for place in sorted(claims.folder.glob("*/")):
        news = last_news(place)
        if news is None or news.step.what in OVER:
            continue
        holder = claims.holder(place.name)
        if holder is None:
            if checkpoints_in(store.packs_folder / place.name):
                yield Standing("stopped", news, None)
        else:
            yield Standing("died" if holder.dead() else "at work", news, holder)
