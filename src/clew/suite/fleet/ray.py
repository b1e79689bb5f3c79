"""Workers as Ray tasks: on the cluster that Ray finds, or on one of its own on this machine.

A worker that dies (killed, out of memory, its node gone) is started again, and goes on from the
last checkpoint of whatever it finds free; its own pack is free once its lease is stale.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

from clew.suite.fleet.order import Order, Resources
from clew.suite.fleet.serve import serve
from clew.suite.stop import Stop
from clew.validate import BadInput

POLL = 2.0
RESTARTS = 3
"""Deaths for each worker, on average, before the fleet is given up."""


def launch(
    order: Order, resources: Resources, stop: Stop, tell: Callable[[str], None]
) -> list[str]:
    """Start the workers and watch them until the last has ended."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        needs, number = share(ray.nodes(), resources)
        tell(f"{number} Ray workers with {needs['num_gpus']} GPU, {needs['num_cpus']} CPU each")
        task = ray.remote(_work).options(**needs, max_retries=0, max_calls=1)
        return _watch(lambda: task.remote(order), number, stop, tell)
    finally:
        ray.shutdown()


def share(nodes: list[dict[str, Any]], resources: Resources) -> tuple[dict[str, int], int]:
    """What a worker asks Ray for, and how many workers there are: one a GPU, else one a node."""
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    have_gpu = any(each.get("GPU", 0) >= 1 for each in alive)
    gpus = int(have_gpu) if resources.gpus is None else resources.gpus
    smallest = min((int(each["CPU"]) for each in alive if each.get("CPU", 0) >= 1), default=1)
    cpus = resources.cpus or (1 if gpus else smallest)
    room = sum(_fitting(each, gpus, cpus) for each in alive)
    if not room:
        raise BadInput(f"no node of the Ray cluster has gpus={gpus} and cpus={cpus} for a worker")
    return {"num_gpus": gpus, "num_cpus": cpus}, resources.workers or room


def _fitting(node: dict[str, float], gpus: int, cpus: int) -> int:
    by_cpu = int(node.get("CPU", 0) // cpus)
    return min(by_cpu, int(node.get("GPU", 0) // gpus)) if gpus else by_cpu


def _work(order: Order) -> int:
    """The task: work, and tell how many packs are left."""
    with Stop(order.time_limit) as stop:
        return serve(order, stop).left


def _watch(
    start: Callable[[], Any], number: int, stop: Stop, tell: Callable[[str], None]
) -> list[str]:
    running, deaths, failures, asked = [start() for _ in range(number)], 0, [], False
    while running:
        ended, running = ray.wait(running, timeout=POLL)
        tell("")
        for each in ended:
            try:
                ray.get(each)
            except TaskCancelledError:
                pass  # we asked before it had begun
            except RayTaskError as error:
                failures.append(f"a worker failed: {str(error).strip().splitlines()[-1]}")
            except RayError as error:
                deaths += 1
                what = f"a worker died: {str(error).strip().splitlines()[0]}"
                if stop.reason or deaths > RESTARTS * number:
                    failures.append(what)
                else:
                    tell(f"{what}; another is started")
                    running.append(start())
        if stop.reason and not asked:
            asked = True
            for each in running:
                ray.cancel(each)  # arrives as SIGINT, which `Stop` takes as a request
    return failures
