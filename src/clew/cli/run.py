"""`clew run`: train a suite, or go on with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from clew.cli.display import Display, console_for
from clew.cli.tables import summary
from clew.suite import Stop, Suite, find_suite, plan, seconds_of, work
from clew.suite.store import Store
from clew.validate import whole_number

EXIT_FAILED, EXIT_LEFT, EXIT_INTERRUPTED = 3, 4, 130


def run(
    suite: str,
    /,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    json: bool = False,
) -> None:
    """Train every run of a suite that is not finished yet. The same command goes on after a stop.

    Ends with 0 if every run is finished, 3 if some failed or diverged, 4 if some are left.

    Args:
        suite: A suite that ships (see `clew list`), or a TOML file of your own.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained side by side; chosen for this device if not given.
        time_limit: Stop at a checkpoint after so long, such as 25m.
        retry: Train runs again that failed or diverged.
        json: Print one JSON object a line instead of progress bars.
    """
    sys.exit(execute(find_suite(suite), store, pack_size, time_limit, retry, json))


def execute(
    suite: Suite,
    folder: Path,
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    json: bool = False,
) -> int:
    """Train a suite into a store, and say how it went; the exit code."""
    console = console_for(json)
    limit = None if time_limit is None else seconds_of(time_limit)
    if pack_size is not None:
        whole_number("pack_size", pack_size, 1)
    store = Store(folder)
    packs = plan(suite, store, pack_size)
    runs = sum(len(each.runs) for each in packs)
    console.print(
        f"{suite.name}: {runs} runs in {len(packs)} packs, results in {folder}",
        highlight=False,
        markup=False,
    )

    def leave() -> None:
        """At once: what is on the disk is whole, and a thread in the middle of a leg is not."""
        console.show_cursor(True)
        os._exit(EXIT_INTERRUPTED)

    display = Display(console, sum(each.legs for each in packs), json)
    with Stop(limit, again=leave) as stop, display:
        outcome = work(store, packs, stop, display, retry=retry)
    counts = summary(console, store, packs, json)
    if outcome.stopped:
        console.print(f"stopped early: {outcome.stopped}; the same command goes on", style="bold")
    if outcome.left:
        return EXIT_LEFT
    return EXIT_FAILED if counts.keys() - {"finished"} else 0
