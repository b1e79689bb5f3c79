"""One job a set of features: its rows turned into a problem of a shape that others have too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clew.probes.fitting.data import MEMORY, Dataset
from clew.probes.fitting.rotation import RANK, Rotation, release, rotation
from clew.probes.fitting.shuffle import shuffled
from clew.probes.fitting.split import split, thinned, unfit

SHUFFLES = 4
ROWS = 2**14
"""Training rows at most, and a quarter of it for validation; others are left out. Steps of an
episode resemble each other: what hundreds of thousands add is time. Test rows all count."""
MOST = 2**26
"""Training rows × features at most: 256 MB as float32."""
TOGETHER = 2**26
"""Rows × components that are solved at once."""


@dataclass(frozen=True)
class Plan:
    """A dataset, split."""

    data: Dataset
    rows: Mapping[str, np.ndarray]
    """By split."""
    swapped: np.ndarray
    """Labels of the null, [n, SHUFFLES]."""
    reason: str
    """Why there is nothing to fit; empty if there is."""


@dataclass(frozen=True)
class Job:
    """One set of features of one plan."""

    plan: Plan
    name: str
    train: np.ndarray
    validation: np.ndarray
    """Rows, thinned if there are many."""

    @property
    def features(self) -> np.ndarray:
        """Of all rows."""
        return self.plan.data.features[self.name]

    @property
    def labels(self) -> np.ndarray:
        """[n, label]: the labels, and those of the null if this is the memory."""
        own = self.plan.data.labels[:, None]
        return np.hstack((own, self.plan.swapped)) if self.name == MEMORY else own

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, components and labels, with room to spare: few shapes, few programs."""
        width = min(self.features.shape[1], RANK)
        labels = 1 + SHUFFLES * (self.name == MEMORY)
        return _room(len(self.train), 256), _room(width, 16), labels


@dataclass(frozen=True)
class Prepared:
    """A job whose features are principal components, filled up to the job's shape, and a 1."""

    job: Job
    turn: Rotation
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def plan(data: Dataset, seed: int) -> Plan:
    """Split a dataset and swap its labels."""
    rows = split(data.episode, seed)
    reason = unfit(data.labels, data.episode, rows)
    rngs = [np.random.default_rng([seed, 4, number]) for number in range(SHUFFLES)]
    swaps = [shuffled(data.labels, data.episode, rows.values(), rng) for rng in rngs]
    return Plan(data, rows, np.stack(swaps, 1), reason)


def jobs_of(plan: Plan, seed: int) -> list[Job]:
    """Every set of features of a plan that has something to fit."""
    if plan.reason:
        return []
    found = []
    for name, features in plan.data.features.items():
        most = max(4, min(ROWS, MOST // max(1, features.shape[1])))
        train = thinned(plan.rows["train"], most, seed)
        validation = thinned(plan.rows["validation"], most // 4, seed)
        found.append(Job(plan, name, train, validation))
    return found


def prepare(job: Job, seed: int) -> Prepared | str:
    """Rotate; or say why it cannot be fitted."""
    found = rotation(job.features, job.train, seed)
    if isinstance(found, str):
        return found
    turn, train = found
    rows = (job.validation, job.plan.rows["test"])
    turned = (train, *(turn.apply(job.features, each) for each in rows))
    release(job.features)
    if not all(np.isfinite(each).all() for each in turned):
        return "some features are not finite numbers"
    return Prepared(job, turn, *(_filled(each, job.shape[1]) for each in turned))


def batches(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Jobs of one shape together, as many as memory allows."""
    by_shape: dict[tuple[int, int, int], list[Job]] = {}
    for job in jobs:
        by_shape.setdefault(job.shape, []).append(job)
    for (rows, width, _), alike in by_shape.items():
        most = max(1, min(8, TOGETHER // (rows * width)))
        # in equal parts: another number of problems is another program to compile
        size = -(-len(alike) // -(-len(alike) // most))
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def _filled(x: np.ndarray, width: int) -> np.ndarray:
    filled = np.zeros((len(x), width + 1), np.float32)
    filled[:, : x.shape[1]], filled[:, -1] = x, 1
    return filled


def _room(size: int, least: int) -> int:
    """The next power of two, or half-way between two of them."""
    whole = max(least, 1 << (max(size, 1) - 1).bit_length())
    return whole * 3 // 4 if least < whole and size <= whole * 3 // 4 else whole
