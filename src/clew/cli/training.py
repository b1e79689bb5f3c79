"""Train a suite, here or on a cluster, and print how it went: what `run`, `train` and `demo` do."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import jax
from rich.console import Console

from clew.cli.arm_table import print_runs
from clew.cli.beforehand import doubts, require_playable
from clew.cli.dry_run import idle_cores
from clew.cli.next_steps import command_again, next_steps
from clew.cli.other_code import trained_with_other_code
from clew.cli.output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_LEFT,
    EXIT_WORKER,
    console_for,
    counted,
    say,
)
from clew.cli.progress import ProgressBars
from clew.learner.program_cache import use_program_cache
from clew.store import ENDED, Store, count, scan
from clew.store.planned import keep_planned
from clew.suite import PackProgress, Stop, plan, work
from clew.suite.launchers import Resources, WorkerConfig, launcher
from clew.suite.launchers.local import LocalWorkers
from clew.suite.launchers.watching import ProgressWatcher
from clew.suite.logs import log_finished
from clew.suite.planning import SuitePlan, retry_failed


def train_here(
    config: WorkerConfig,
    workers: int = 1,
    retry: bool = False,
    as_json: bool = False,
    demo: bool = False,
) -> int:
    """Train a suite on this machine, print how it went and what to do next; the exit code."""
    if workers > 1:
        stay_off_devices()
    elif config.cache:
        use_program_cache()
    require_playable(config.suite, config.store, retry)
    store, console = Store(config.store), console_for(as_json)
    if retry:
        retry_failed(config.suite, store, config.pack_size)
    packs = plan(config.suite, store, config.pack_size)
    _log_finished(config, store, console)
    runs = f"{counted(len(config.suite.runs()), 'run')} in {counted(len(packs.packs), 'pack')}"
    _begin(console, config, runs)
    idle = idle_cores(len(packs.packs), workers) if workers == 1 else ""
    if idle and jax.default_backend() == "cpu":
        say(console, idle)
    bars = ProgressBars(console, packs.periods, as_json)
    stopped, failures = _train(config, store, packs, workers, bars)
    return _conclude(config, store, bars, stopped, failures, demo)


def train_on_cluster(
    on: str, config: WorkerConfig, resources: Resources, retry: bool = False, as_json: bool = False
) -> int:
    """Train a suite by workers on a cluster, and print how it went; the exit code."""
    launch = launcher(on)
    stay_off_devices()
    require_playable(config.suite, config.store, retry)
    store, console = Store(config.store), console_for(as_json)
    if retry:
        retry_failed(config.suite, store, config.pack_size)
    _log_finished(config, store, console)
    _begin(console, config, counted(len(config.suite.runs()), "run"))
    watcher, stop = ProgressWatcher(store, config.suite), Stop()
    bars = ProgressBars(console, watcher.periods, as_json)

    def show(line: str) -> None:
        """What the launcher says; empty if only time has passed."""
        if line:
            say(console, line)
        updates = list(watcher.updates())
        bars.expect(watcher.periods)
        for progress in updates:
            bars(progress)

    with bars:
        failures = launch(config, resources, stop, show)
        show("")
    return _conclude(config, store, bars, stop.reason, failures)


def _begin(console: Console, config: WorkerConfig, runs: str) -> None:
    say(console, f"{config.suite.name}: {runs}, results in {config.store}")
    for module in config.modules:
        say(console, f"with the module {module.name} ({sys.modules[module.name].__file__})")
    store = Store(config.store)
    keep_planned(
        store, config.suite.name, [store.run(run.config).name for run in config.suite.runs()]
    )
    for line in [*doubts(config.suite), *trained_with_other_code(config.suite, store)]:
        say(console, line, style="bold")


def stay_off_devices() -> None:
    """A process that only watches must not take the GPU's memory from a worker that trains."""
    jax.config.update("jax_platforms", "cpu")


def exit_code(counts: dict[str, int], failures: Sequence[str]) -> int:
    """For runs counted by status, and the workers that failed."""
    if failures:
        return EXIT_WORKER
    if counts.keys() - {*ENDED}:
        return EXIT_LEFT
    return EXIT_FAILED if counts.keys() - {"finished"} else 0


def _train(
    config: WorkerConfig,
    store: Store,
    packs: SuitePlan,
    workers: int,
    bars: ProgressBars,
) -> tuple[str, list[str]]:
    """Why it was stopped, if it was; and a sentence for each worker that failed."""
    team = LocalWorkers(config, workers) if workers > 1 else None

    def watch(progress: PackProgress) -> None:
        if packs.refresh():
            bars.expect(packs.periods)
        bars(progress)

    def leave() -> None:
        """At once: files on the disk are whole, and the period that is being trained is lost."""
        bars.console.show_cursor(True)
        if team:
            team.kill()
        print(f"\nto go on: {command_again()}", file=sys.stderr, flush=True)
        os._exit(EXIT_INTERRUPTED)

    with Stop(None if team else config.time_limit, again=leave) as stop, bars:
        if team:
            return team.launch(stop, watch)
        every, logs = config.checkpoint_every, config.logs
        outcome = work(store, packs, stop, watch, checkpoint_every=every, logs=logs)
    return outcome.stopped, []


def _log_finished(config: WorkerConfig, store: Store, console: Console) -> None:
    """What was trained without these logs gets them now."""
    runs = (store.run(run.config) for run in config.suite.runs() if config.logs)
    if logged := log_finished(store, runs, config.logs):
        say(console, f"logged {len(logged)} runs that were finished before")


def _conclude(
    config: WorkerConfig,
    store: Store,
    bars: ProgressBars,
    stopped: str,
    failures: Sequence[str],
    demo: bool = False,
) -> int:
    """Print the suite's runs by arm, what went wrong, and what to type next."""
    wanted = {store.run(run.config).name for run in config.suite.runs()}
    rows = [row for row in scan(store) if row.name in wanted]
    counts = count(rows)
    if missing := len(wanted) - len(rows):
        counts["absent"] = missing
    print_runs(bars.console, rows, counts, bars.as_json)
    stuck = [f"{row.name} is not trained: {row.stuck}" for row in rows if row.stuck]
    for failure in [*failures, *stuck]:
        print(f"clew: {failure}", file=sys.stderr)
    for line in next_steps(config.store, counts, stopped, demo):
        say(bars.console, line, style="bold")
    return exit_code(counts, failures)
