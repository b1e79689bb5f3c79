"""Watch a suite that other processes train, through what they write in the store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from clew.store import ENDED, CannotRead, Store, scan
from clew.suite.planning import SuitePlan, existing_plan
from clew.suite.progress import OVER, PackProgress, ended, last_published
from clew.suite.suite import Suite


class ProgressWatcher:
    """What other processes do with the packs of a suite, as they see it themselves."""

    def __init__(self, store: Store, suite: Suite) -> None:
        self._store, self._suite = store, suite
        self._plan: SuitePlan | None = None
        self._left: set[str] = set()
        self._seen: dict[str, float] = {}
        """When what was seen last of a pack was written."""
        # what is there before anybody has begun is old
        self._ended = list(self._follow_plan(old=True))

    @property
    def periods(self) -> int | None:
        """Of all packs; None until the first worker has made a plan."""
        return None if self._plan is None else self._plan.periods

    def updates(self) -> Iterator[PackProgress]:
        """What they have written since the last call."""
        yield from self._ended
        self._ended = []
        yield from self._follow_plan(old=False)
        for name in list(self._left):
            found = last_published(self._place(name))
            if found is None or found.when == self._seen.get(name):
                continue
            self._seen[name] = found.when
            if found.progress.what in OVER:
                self._left.remove(name)
            yield found.progress

    def _follow_plan(self, *, old: bool) -> Iterator[PackProgress]:
        """Expect the packs of the newest plan, and tell of those that have ended already."""
        with contextlib.suppress(CannotRead):  # the workers will say so
            if self._plan is None:
                self._plan = existing_plan(self._suite, self._store)
            elif not self._plan.refresh():
                return
        done = {run.identity for run in scan(self._store) if run.status in ENDED}
        for pack in self._plan.packs if self._plan else ():
            name = pack.folder(self._store).name
            if name in self._seen:
                continue
            if all(run.identity in done for run in pack.runs):
                self._seen[name] = 0.0
                yield ended(name, "found", pack.periods)
                continue
            self._left.add(name)
            if old and (before := last_published(self._place(name))):
                self._seen[name] = before.when

    def _place(self, name: str) -> Path:
        return self._store.claims().folder / name
