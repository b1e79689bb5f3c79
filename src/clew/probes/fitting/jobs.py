"""One job a set of features: its rows turned into problems of a shape that others have too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array

from clew.probes.fitting.data import MEMORY, Dataset
from clew.probes.fitting.logistic import Problem
from clew.probes.fitting.rotation import RANK, Rotation, release, rotation
from clew.probes.fitting.shuffle import shuffled
from clew.probes.fitting.split import split, thinned, unfit

SHUFFLES = 3
ROWS = 2**13
"""Training rows at most, and a quarter of it for validation; others are left out. Steps of an
episode resemble each other: what hundreds of thousands add is time. Test rows all count."""
MOST = 2**26
"""Training rows × features at most: 256 MB as float32."""
WIDTHS = (32, 128, RANK)
"""Components that a problem has room for: few shapes, few programs."""


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


@dataclass(frozen=True)
class Prepared:
    """A job whose features are principal components, and a 1."""

    job: Job
    turn: Rotation
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @property
    def width(self) -> int:
        """Room for its components."""
        return next(width for width in WIDTHS if self.train.shape[1] - 1 <= width)

    def trimmed(self, weights: Array | np.ndarray) -> np.ndarray:
        """Weights, [·, feature, …], without the room that nothing fills."""
        return np.delete(np.asarray(weights), np.s_[self.train.shape[1] - 1 : -1], 1)

    def problems(self) -> list[Problem]:
        """One for each label, filled up to `ROWS` and `width`."""
        rows = len(self.train)
        x = np.zeros((ROWS, self.width + 1), np.float32)
        x[:rows, : self.train.shape[1] - 1], x[:rows, -1] = self.train[:, :-1], 1
        labels = self.job.labels[self.job.train].T
        y = np.pad(labels.astype(np.float32), ((0, 0), (0, ROWS - rows)))
        return [Problem(x, each, np.array(rows, np.int32)) for each in y]


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
    return Prepared(
        job, turn, *(np.pad(each, ((0, 0), (0, 1)), constant_values=1) for each in turned)
    )
