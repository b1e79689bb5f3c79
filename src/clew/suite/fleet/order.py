"""What a worker is told, and what it gets to do it with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from clew.suite.stop import seconds_of
from clew.suite.suite import Suite
from clew.suite.training import CHECKPOINT_EVERY
from clew.validate import BadInput, whole_number

SHORTEST_JOB = 120.0
_ONLY_SLURM = ("partition", "job_time", "sbatch")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """The same for every worker. It travels to other machines, so paths are absolute."""

    suite: Suite
    store: Path
    pack_size: int | None = None
    """Chosen by the first worker for its device, if not given here."""
    time_limit: float | None = None
    """Seconds that a worker works for."""
    every: float = CHECKPOINT_EVERY
    """Seconds between checkpoints."""

    def __post_init__(self) -> None:
        if self.pack_size is not None:
            whole_number("pack_size", self.pack_size, 1)
        object.__setattr__(self, "store", Path(self.store).absolute())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resources:
    """How many workers, and what each of them gets. What is None, the launcher chooses."""

    workers: int | None = None
    gpus: int | None = None
    """A pack is trained on one device: more than one GPU would idle."""
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
        """Raise an error for the first field that means nothing there."""
        useless = {"local": ("gpus", "cpus", *_ONLY_SLURM), "ray": _ONLY_SLURM}
        for field in useless.get(place, ()):
            if value := getattr(self, field):
                where = "--on slurm" if field in _ONLY_SLURM else "--on slurm or --on ray"
                raise BadInput(
                    f"{field}={value!r} means nothing with --on {place}; it is {where}'s"
                )
