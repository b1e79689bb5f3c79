"""What starts workers: the launchers by name, and the resources that they may ask for.

A launcher only starts workers; all of them work on one store, and agree with each other through it.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from clew.suite.stop import Stop, seconds_of
from clew.suite.worker import WorkerConfig
from clew.validate import BadInput, one_of, whole_number

NEEDS = {"slurm": "submitit", "ray": "ray"}
"""Launchers by name, and the package that each of them needs."""
NAMES = tuple(NEEDS)
SHORTEST_JOB = 120.0
_ONLY_SLURM = ("partition", "job_time", "sbatch")


class Launcher(Protocol):
    """Starts workers, and comes back when none is left, with a sentence for each that failed."""

    def __call__(
        self, config: WorkerConfig, resources: Resources, stop: Stop, tell: Callable[[str], None]
    ) -> list[str]:
        """`tell` gets news, and is called every few seconds with an empty line if there is none.

        The launcher enters `stop`, after what it uses has set signal handlers of its own.
        """
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resources:
    """How many workers, and what each of them gets. What is None, the launcher chooses."""

    workers: int | None = None
    gpus: int | None = None
    """0 or 1: a pack is trained on one device, and a second GPU would be idle."""
    cpus: int | None = None
    partition: str | None = None
    job_time: str | None = None
    """Of a job, such as 4h; a worker that has not finished is queued again."""
    sbatch: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further options of sbatch, by name."""

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole_number("workers", self.workers, 1)
        if self.gpus is not None:
            whole_number("gpus", self.gpus, 0, 1)
        if self.cpus is not None:
            whole_number("cpus", self.cpus, 1)
        if self.job_time is not None and seconds_of(self.job_time, "job_time") < SHORTEST_JOB:
            raise BadInput(
                f"job_time={self.job_time!r} is not valid; a job has at least {SHORTEST_JOB:g}s"
            )

    def only_for(self, place: str) -> None:
        """Raise an error for the first field that has no effect there."""
        useless = {"local": ("gpus", "cpus", *_ONLY_SLURM), "ray": _ONLY_SLURM}
        for field in useless.get(place, ()):
            if value := getattr(self, field):
                where = "--on slurm" if field in _ONLY_SLURM else "--on slurm or --on ray"
                raise BadInput(
                    f"{field}={value!r} has no effect with --on {place}; it is for {where}"
                )


def launcher(place: str) -> Launcher:
    """The launcher of a place, if what it needs is installed."""
    one_of("on", place, NAMES)
    if importlib.util.find_spec(NEEDS[place]) is None:
        raise BadInput(
            f"on={place!r} needs {NEEDS[place]}, which is not installed: "
            f"pip install 'clew[{place}]'"
        )
    return importlib.import_module(f"clew.suite.launchers.{place}").launch


class WorkerShare(NamedTuple):
    """What one worker takes, and how many workers there are."""

    gpus: int
    cpus: int
    workers: int


def workers_that_fit(nodes: Sequence[Mapping[str, float]], wanted: Resources) -> WorkerShare:
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
    return WorkerShare(gpus, cpus, wanted.workers or room)


def _fitting(node: Mapping[str, float], gpus: int, cpus: int) -> int:
    by_cpu = int(node.get("CPU", 0) // cpus)
    return min(by_cpu, int(node.get("GPU", 0) // gpus)) if gpus else by_cpu
