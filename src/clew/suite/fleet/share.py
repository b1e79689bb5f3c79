"""How many workers a cluster has room for, and what each of them takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.suite.fleet.order import Resources
from clew.validate import BadInput


class Share(NamedTuple):
    """What one worker takes, and how many workers there are."""

    gpus: int
    cpus: int
    workers: int


def share(nodes: Sequence[Mapping[str, float]], wanted: Resources) -> Share:
    """One worker a GPU; where there are none, one for each `cpus`, which is a whole node if not
    given. `nodes` say what they have, in Ray's words."""
    gpus = wanted.gpus
    if gpus is None:
        gpus = int(any(node.get("GPU", 0) >= 1 for node in nodes))
    smallest = min((int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1), default=1)
    cpus = wanted.cpus or (1 if gpus else smallest)
    room = sum(_fitting(node, gpus, cpus) for node in nodes)
    if not room:
        raise BadInput(f"no node of the cluster has gpus={gpus} and cpus={cpus} for a worker")
    return Share(gpus, cpus, wanted.workers or room)


def _fitting(node: Mapping[str, float], gpus: int, cpus: int) -> int:
    by_cpu = int(node.get("CPU", 0) // cpus)
    return min(by_cpu, int(node.get("GPU", 0) // gpus)) if gpus else by_cpu
