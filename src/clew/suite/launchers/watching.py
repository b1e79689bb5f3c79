"""Watch a suite that other processes train, through what they write in the store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from clew.store import CannotRead, Store, scan
from clew.suite.planning import existing_plan
from clew.suite.progress import OVER, PackProgress, ended, last_published
from clew.suite.suite import Suite


class ProgressWatcher:
    """What other processes do with the packs of a suite, as they see it themselves."""

    def __init__(self, store: Store, suite: Suite) -> None:
        self._store, self._suite = store, suite
        self.periods: int | None = None
        """Of all packs; None until the first worker has made a plan."""
        self._left: dict[str, int] = {}
        self._seen: dict[str, float] = {}
        # what is there before anybody has begun is old
        self._ended = list(self._look_at_plan(old=True))

    def updates(self) -> Iterator[PackProgress]:
        """What they have written since the last call."""
        yield from self._ended
        self._ended = []
        if self.periods is None:
            yield from self._look_at_plan(old=False)
        for name in list(self._left):
            found = last_published(self._place(name))
            if found is None or found.when == self._seen.get(name):
                continue
            self._seen[name] = found.when
            if found.progress.what in OVER:
                del self._left[name]
            yield found.progress

    def _look_at_plan(self, *, old: bool) -> Iterator[PackProgress]:
        packs = None
        with contextlib.suppress(CannotRead):  # the workers will say so
            packs = existing_plan(self._suite, self._store)
        if packs is None:
            return
        self.periods = sum(pack.periods for pack in packs)
        ends = {"finished", "failed", "diverged"}
        done = {row.identity for row in scan(self._store) if row.status in ends}
        for pack in packs:
            name = self._store.pack([run.config for run in pack.runs]).name
            if all(run.identity in done for run in pack.runs):
                yield ended(name, "found", pack.periods)
                continue
            self._left[name] = pack.periods
            if old and (before := last_published(self._place(name))):
                self._seen[name] = before.when

    def _place(self, name: str) -> Path:
        return self._store.claims().folder / name
