"""`clew run`: train a suite, or go on with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from clew.cli.display import Display, console_for
from clew.cli.fleet import EXIT_FAILED, EXIT_LEFT, dispatch, stay_off_devices
from clew.cli.tables import summary
from clew.suite import Planned, Step, Stop, Suite, find_suite, plan, seconds_of, work
from clew.suite.boards import write_boards
from clew.suite.fleet import Order, Resources
from clew.suite.store import Store
from clew.suite.training import CHECKPOINT_EVERY, Watch
from clew.validate import whole_number

EXIT_INTERRUPTED = 130


def run(
    suite: str,
    /,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    checkpoint_every: str = "2m",
    retry: bool = False,
    tensorboard: bool = False,
    json: bool = False,
    on: Literal["local", "slurm", "ray"] = "local",
    workers: int | None = None,
    gpus: int | None = None,
    cpus: int | None = None,
    partition: str | None = None,
    job_time: str | None = None,
    sbatch: dict[str, str] | None = None,
) -> None:
    """Train every run of a suite that is not finished yet. The same command goes on after a stop.

    Ends with 0 if every run is finished, 3 if some failed or diverged, 4 if some are left, 5 if a
    worker on a cluster failed.

    Args:
        suite: A suite that ships (see `clew list`), or a TOML file of your own.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained side by side; chosen for this device if not given.
        time_limit: Stop at a checkpoint after so long, such as 25m.
        checkpoint_every: What a crash may cost, in time; after every evaluation with 0s.
        retry: Train runs again that failed or diverged.
        tensorboard: Write TensorBoard's files too, into the store.
        json: Print one JSON object a line instead of progress bars.
        on: Where the workers run: here, or on a cluster that sees the store's folder too.
        workers: How many, on a cluster: 1 on SLURM and on Ray one a GPU, or a node without any.
        gpus: For each worker: 0 or 1. None on SLURM and one where there are some on Ray.
        cpus: For each worker.
        partition: Of SLURM.
        job_time: Of a SLURM job, 4h if not given; what is not finished then is queued again.
        sbatch: Further options of SLURM's sbatch, such as account NAME qos NAME.
    """
    resources = Resources(
        workers=workers,
        gpus=gpus,
        cpus=cpus,
        partition=partition,
        job_time=job_time,
        sbatch=sbatch or {},
    )
    every = seconds_of(checkpoint_every, "checkpoint_every")
    if on == "local":
        resources.only_for(on)
        chosen = find_suite(suite)
        sys.exit(execute(chosen, store, pack_size, time_limit, retry, json, tensorboard, every))
    stay_off_devices()
    order = Order(
        suite=find_suite(suite),
        store=store,
        pack_size=pack_size,
        time_limit=None if time_limit is None else seconds_of(time_limit),
        every=every,
    )
    sys.exit(dispatch(on, order, resources, retry, json))


def execute(
    suite: Suite,
    folder: Path,
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    json: bool = False,
    tensorboard: bool = False,
    every: float = CHECKPOINT_EVERY,
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
        watch = _boarding(store, packs, display) if tensorboard else display
        outcome = work(store, packs, stop, watch, retry=retry, every=every)
    counts = summary(console, store, suite.runs(), json)
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
