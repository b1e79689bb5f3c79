"""`clew run`: train a suite, or go on with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from clew.cli.display import Display, console_for
from clew.cli.tables import summary
from clew.learner import legs_in
from clew.suite import Planned, Step, Stop, Suite, find_suite, plan, seconds_of, work
from clew.suite.boards import write_boards
from clew.suite.store import Store
from clew.suite.training import Watch

EXIT_FAILED, EXIT_LEFT = 3, 4


def run(
    suite: str,
    /,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    tensorboard: bool = False,
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
        tensorboard: Write TensorBoard's files too, into the store.
        json: Print one JSON object a line instead of progress bars.
    """
    sys.exit(execute(find_suite(suite), store, pack_size, time_limit, retry, json, tensorboard))


def execute(
    suite: Suite,
    folder: Path,
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    json: bool = False,
    tensorboard: bool = False,
) -> int:
    """Train a suite into a store, and say how it went; the exit code."""
    console = console_for(json)
    limit = None if time_limit is None else seconds_of(time_limit)
    store = Store(folder)
    packs = plan(suite, store, pack_size)
    runs = sum(len(each.runs) for each in packs)
    console.print(
        f"{suite.name}: {runs} runs in {len(packs)} packs, results in {folder}", highlight=False
    )
    lengths = [legs_in(each.pack, each.runs[0].steps) for each in packs]
    with Stop(limit) as stop, Display(console, lengths, json) as display:
        watch = _boarding(store, packs, display) if tensorboard else display
        outcome = work(store, packs, stop, watch, retry=retry)
    counts = summary(console, store, packs, json)
    if outcome.stopped:
        console.print(f"stopped early: {outcome.stopped}; the same command goes on", style="bold")
    if outcome.left:
        return EXIT_LEFT
    return EXIT_FAILED if counts.keys() - {"finished"} else 0


def _boarding(store: Store, packs: Sequence[Planned], then: Watch) -> Watch:
    """Write TensorBoard's files for what is finished already, and for each pack when it is."""
    folders = [store.pack([run.config for run in each.runs]) for each in packs]
    runs = {folder.name: folder.runs for folder in folders}
    for members in runs.values():
        write_boards(store, members)

    def watch(step: Step) -> None:
        if step.what == "finished":
            write_boards(store, runs[step.name])
        then(step)

    return watch
