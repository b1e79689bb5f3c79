"""`clew run --on …`: send workers out, watch the store, and tell how it ended."""

from __future__ import annotations

import json
import sys
from collections import Counter

import jax
from rich.console import Console

from clew.cli.display import console_for
from clew.cli.tables import summary
from clew.suite import Stop
from clew.suite.fleet import Order, Resources, launcher
from clew.suite.store import Store, scan

EXIT_FAILED, EXIT_LEFT, EXIT_WORKER = 3, 4, 5


def dispatch(
    on: str, order: Order, resources: Resources, retry: bool = False, as_json: bool = False
) -> int:
    """Train a suite on a cluster, and say how it went; the exit code."""
    launch = launcher(on)
    console, store = console_for(as_json), Store(order.store)
    runs = order.suite.runs()
    if retry:  # once, here: a worker that starts later must not forget what failed meanwhile
        for run in runs:
            store.run(run.config).retry()
    console.print(
        f"{order.suite.name}: {len(runs)} runs, results in {order.store}", highlight=False
    )
    news = News(console, store, {run.identity for run in runs}, as_json)
    stop = Stop()
    failures = launch(order, resources, stop, news)
    counts = summary(console, store, runs, as_json)
    for failure in failures:
        print(f"clew: {failure}", file=sys.stderr)
    if stop.reason:
        console.print(f"stopped early: {stop.reason}; the same command goes on", style="bold")
    return exit_code(counts, failures)


def exit_code(counts: dict[str, int], failures: list[str]) -> int:
    """For runs so counted by status, and workers that failed."""
    if failures:
        return EXIT_WORKER
    if counts.keys() - {"finished", "failed", "diverged"}:
        return EXIT_LEFT
    return EXIT_FAILED if counts.keys() - {"finished"} else 0


def stay_off_devices() -> None:
    """Whoever only watches must not take the memory of the GPU that a worker here will train on."""
    jax.config.update("jax_platforms", "cpu")


class News:
    """A line when a launcher has something to say, or when runs have begun or ended."""

    def __init__(
        self, console: Console, store: Store, wanted: set[str], as_json: bool = False
    ) -> None:
        self.console, self.store, self.wanted, self.as_json = console, store, wanted, as_json
        self._last: dict[str, int] = {}

    def __call__(self, line: str) -> None:
        """What the launcher says; empty if only time has passed."""
        if line:
            self.console.print(line, highlight=False)
        rows = (row for row in scan(self.store) if row.identity in self.wanted)
        counts = dict(sorted(Counter(row.status for row in rows).items()))
        if counts == self._last:
            return
        self._last = counts
        if self.as_json:
            print(json.dumps({"counts": counts}), flush=True)
        else:
            words = ", ".join(f"{number} {status}" for status, number in counts.items())
            self.console.print(f"of {len(self.wanted)} runs: {words}", highlight=False)
