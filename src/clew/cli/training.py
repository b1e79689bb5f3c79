"""`clew run --on …`: send workers out, watch the store, and tell how it ended."""

from __future__ import annotations

import sys

import jax

from clew.cli.arm_table import summary
from clew.cli.progress import Display, console_for
from clew.store import Store
from clew.suite import Stop
from clew.suite.launchers import Resources, WorkerConfig, launcher
from clew.suite.launchers.watching import ProgressWatcher
from clew.suite.planning import retry_failed

EXIT_FAILED, EXIT_LEFT, EXIT_WORKER = 3, 4, 5


def dispatch(
    on: str, config: WorkerConfig, resources: Resources, retry: bool = False, as_json: bool = False
) -> int:
    """Train a suite on a cluster, and say how it went; the exit code."""
    launch = launcher(on)
    console, store = console_for(as_json), Store(config.store)
    runs = config.suite.runs()
    if retry:
        retry_failed(config.suite, store, config.pack_size)
    said = f"{config.suite.name}: {len(runs)} runs, results in {config.store}"
    console.print(said, highlight=False, markup=False, soft_wrap=True)
    watcher, stop = ProgressWatcher(store, config.suite), Stop()
    display = Display(console, watcher.periods, as_json)

    def tell(line: str) -> None:
        """What the launcher says; empty if only time has passed."""
        if line:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        steps = list(watcher.updates())
        display.expect(watcher.periods)
        for step in steps:
            display(step)

    with display:
        failures = launch(config, resources, stop, tell)
        tell("")
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
