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
DISTANCE = 2.0
"""Between the answers of a planted signal, in deviations of the states: a reader who knew where it
is would have an AUC of Φ(2/√2) = 0.92."""
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
        """[n, label]: the labels; of the memory also the null's, and last those of a signal that
        is planted, for which one of the null's will do: they say nothing about the states."""
        own, swapped = self.plan.data.labels[:, None], self.plan.swapped
        return np.hstack((own, swapped, swapped[:, :1])) if self.name == MEMORY else own

    @property
    def planted(self) -> int:
        """The label for which a signal is planted; 0 if there is none."""
        return self.labels.shape[1] - 1


@dataclass(frozen=True)
class Prepared:
    """A job whose features are principal components, and a 1."""

    job: Job
    turn: Rotation
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    signal: np.ndarray
    """What is added to the rows that are labelled 1 where a signal is planted."""

    def seen(self, split: str, label: int) -> np.ndarray:
        """Rows of a split, with the signal in them if it is for this label that it is planted."""
        x = getattr(self, split)
        if not label or label != self.job.planted:
            return x
        rows = self.job.plan.rows["test"] if split == "test" else getattr(self.job, split)
        return x + np.outer(self.job.labels[rows, label], self.signal).astype(np.float32)

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
        labels = self.job.labels[self.job.train].T
        y = np.pad(labels.astype(np.float32), ((0, 0), (0, ROWS - rows)))
        x = [self._roomy(self.train)] * len(y)
        if self.job.planted:
            x[-1] = self._roomy(self.seen("train", self.job.planted))
        return [Problem(*each, np.array(rows, np.int32)) for each in zip(x, y, strict=True)]

    def _roomy(self, train: np.ndarray) -> np.ndarray:
        x = np.zeros((ROWS, self.width + 1), np.float32)
        x[: len(train), : train.shape[1] - 1], x[: len(train), -1] = train[:, :-1], 1
        return x


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
    filled = (np.pad(each, ((0, 0), (0, 1)), constant_values=1) for each in turned)
    signal = np.append(planted(turn.variance, seed), 0.0)
    return Prepared(job, turn, *filled, signal=signal)


def planted(variance: np.ndarray, seed: int) -> np.ndarray:
    """A step of `DISTANCE` in a random direction, in components that have this variance."""
    direction = np.random.default_rng([seed, 5]).standard_normal(len(variance))
    return DISTANCE * np.sqrt(variance) * direction / np.linalg.norm(direction)
