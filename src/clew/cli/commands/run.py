"""`clew run`: train a suite, or go on with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from rich.console import Console

from clew.cli.arm_table import summary
from clew.cli.parsing import SuiteName
from clew.cli.progress import Display, console_for
from clew.cli.registry import register
from clew.cli.training import dispatch, exit_code, stay_off_devices
from clew.store import Store
from clew.suite import PackProgress, Stop, find_suite, plan, seconds_of, work
from clew.suite.launchers import Resources, WorkerConfig
from clew.suite.launchers.local import LocalWorkers
from clew.suite.planning import SuitePlan, retry_failed
from clew.suite.progress import OnProgress
from clew.suite.tensorboard import write_tensorboard

EXIT_INTERRUPTED = 130
NOTHING: dict[str, str] = {}


@register("run")
def run(
    suite: SuiteName,
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
    sbatch: dict[str, str] = NOTHING,
) -> None:
    """Train every run of a suite that is not finished yet. The same command goes on after a stop.

    Ends with 0 if every run is finished, 3 if some failed or diverged, 4 if some are left, 5 if a
    worker failed.

    Args:
        suite: A suite that ships (see `clew list`), or a TOML file of your own.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained side by side; chosen for this device if not given. What a store has
            planned already stays so, unless --retry is given too.
        time_limit: Stop at a checkpoint after so long, such as 25m.
        checkpoint_every: What a crash may cost, in time; after every evaluation with 0s.
        retry: Train runs again that failed or diverged, with --pack-size in packs of that size.
        tensorboard: Write TensorBoard's files too, into the store.
        json: Print one JSON object a line instead of progress bars.
        on: Where the workers run: here, or on a cluster that sees the store's folder too.
        workers: How many: 1 here and on SLURM, on Ray one a GPU, or a node without any.
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
        sbatch=sbatch,
    )
    resources.only_for(on)
    config = WorkerConfig(
        suite=find_suite(suite),
        store=store,
        pack_size=pack_size,
        time_limit=None if time_limit is None else seconds_of(time_limit),
        checkpoint_every=seconds_of(checkpoint_every, "checkpoint_every"),
    )
    if on == "local":
        sys.exit(execute(config, workers or 1, retry, json, tensorboard))
    stay_off_devices()
    sys.exit(dispatch(on, config, resources, retry, json))


def execute(
    config: WorkerConfig,
    workers: int = 1,
    retry: bool = False,
    as_json: bool = False,
    tensorboard: bool = False,
) -> int:
    """Train a suite on this machine, and say how it went; the exit code."""
    console = console_for(as_json)
    if workers > 1:
        stay_off_devices()
    store, runs = Store(config.store), config.suite.runs()
    if retry:
        retry_failed(config.suite, store, config.pack_size)
    packs = plan(config.suite, store, config.pack_size)
    said = f"{len(runs)} runs in {len(packs.packs)} packs, results in {config.store}"
    console.print(f"{config.suite.name}: {said}", highlight=False, markup=False, soft_wrap=True)
    display = Display(console, packs.periods, as_json)
    watch = _watching(store, packs, display, tensorboard)
    stopped, failures = _train(config, store, packs, workers, console, display, watch)
    counts = summary(console, store, runs, as_json)
    for failure in failures:
        print(f"clew: {failure}", file=sys.stderr)
    if stopped:
        console.print(f"stopped early: {stopped}; the same command goes on", style="bold")
    return exit_code(counts, failures)


def _train(
    config: WorkerConfig,
    store: Store,
    packs: SuitePlan,
    workers: int,
    console: Console,
    display: Display,
    watch: OnProgress,
) -> tuple[str, list[str]]:
    """Why it was stopped, if it was; and a sentence for each worker that failed."""
    team = LocalWorkers(config, workers) if workers > 1 else None

    def leave() -> None:
        """At once: what is on the disk is whole, and a thread in the middle of a period is not."""
        console.show_cursor(True)
        if team:
            team.kill()
        os._exit(EXIT_INTERRUPTED)

    with Stop(None if team else config.time_limit, again=leave) as stop, display:
        if team:
            return team.launch(stop, watch)
        outcome = work(store, packs, stop, watch, checkpoint_every=config.checkpoint_every)
    return outcome.stopped, []


def _watching(store: Store, packs: SuitePlan, display: Display, tensorboard: bool) -> OnProgress:
    """Show progress, and write TensorBoard's files of packs that are finished, now or already."""
    for pack in packs.packs if tensorboard else ():
        write_tensorboard(store, pack.folder(store).runs)

    def watch(progress: PackProgress) -> None:
        if packs.refresh():
            display.expect(packs.periods)
        if tensorboard and progress.what == "finished":
            folders = (pack.folder(store) for pack in packs.packs)
            runs = next(folder.runs for folder in folders if folder.name == progress.name)
            write_tensorboard(store, runs)
        display(progress)

    return watch
