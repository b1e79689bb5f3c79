"""Workers as Ray tasks: on the cluster that Ray finds, or on one of its own on this machine.

A worker that dies (killed, out of memory, its node gone) is started again, and goes on from the
last checkpoint of whatever it finds free; its own pack is free once its lease is stale.
"""

from __future__ import annotations

import importlib
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from clew.suite.launchers.base import Resources, workers_that_fit
from clew.suite.stop import Stop
from clew.suite.worker import WorkerConfig, run_worker
from clew.validate import BadInput

# Not `import ray`: where Ray is not installed, type checkers take this very file for it.
ray: Any = importlib.import_module("ray")

POLL = 2.0
RESTARTS = 3
"""Deaths for each worker, on average, before no more are started."""


def launch(
    config: WorkerConfig, resources: Resources, stop: Stop, tell: Callable[[str], None]
) -> list[str]:
    """Start the workers and watch them until the last has ended."""
    _connect()
    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus, cpus, workers = workers_that_fit(nodes, resources)
        tell(f"{workers} Ray workers, each with {gpus} GPU and {cpus} CPU")
        task = ray.remote(max_retries=0, max_calls=1)(_work)
        task = task.options(num_gpus=gpus, num_cpus=cpus)
        with stop:
            return _watch(lambda: task.remote(config), workers, stop, tell)
    finally:
        ray.shutdown()


def _connect() -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        # jax warns of forks; Ray's go on as other programs
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
        try:
            ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
        except Exception as error:
            # a bare `Exception`, if a node is not up in time
            why = (str(error).strip().splitlines() or [repr(error)])[0]
            raise BadInput(f"Ray did not start, or could not be reached: {why}") from error


def _work(config: WorkerConfig) -> str:
    """The task: work, and tell what went wrong in words, which travel better than errors."""
    try:
        with Stop(config.time_limit) as stop:
            run_worker(config, stop)
    except Exception as error:
        traceback.print_exc()  # into Ray's own logs
        return f"a worker failed: {type(error).__name__}: {error}"
    return ""


def _watch(
    start: Callable[[], Any], workers: int, stop: Stop, tell: Callable[[str], None]
) -> list[str]:
    running, deaths, failures, asked = [start() for _ in range(workers)], 0, [], False
    while running:
        ended, running = ray.wait(running, timeout=POLL)
        tell("")
        for task in ended:
            try:
                failures += filter(None, [ray.get(task)])
            except ray.exceptions.TaskCancelledError:
                pass  # it was asked to end before it had begun
            except ray.exceptions.RayTaskError as error:
                # before our code had begun: Clew is not installed there, say
                failures.append(f"a worker failed: {str(error).strip().splitlines()[-1]}")
            except ray.exceptions.RayError as error:
                deaths += 1
                what = f"a worker died: {' '.join(str(error).split())}"
                if stop.reason or deaths > RESTARTS * workers:
                    failures.append(what)
                else:
                    tell(f"{what} Another is started.")
                    running.append(start())
        if stop.reason and not asked:
            asked = True
            for task in running:
                ray.cancel(task)  # arrives as SIGINT, which `Stop` takes as a request
    return failures
