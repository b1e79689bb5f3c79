"""From a dataset to regression problems that share a few shapes, and so a few compiled programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Array

from clew.probes.fitting.components import RANK, Components, fit_components, release_pages
from clew.probes.fitting.dataset import (
    Dataset,
    shuffle_labels,
    split_by_episode,
    subsample,
    why_unfit,
)
from clew.probes.fitting.logistic import Problem
from clew.probes.results import MEMORY

SHUFFLES = 3
DISTANCE = 2.0
"""Between the two classes of the planted signal, in standard deviations of the states: a classifier
that knew the direction would have an AUC of Φ(2/√2) = 0.92."""
ROWS = 2**13
"""Training rows at most, and a quarter of it for validation; the others are left out. Steps of an
episode resemble each other: hundreds of thousands of rows would mostly add time. All test rows
count."""
MAX_NUMBERS = 2**26
"""Training rows × features at most: 256 MB as float32."""
WIDTHS = (32, 128, RANK)
"""Components of a problem are padded to one of these: few shapes, few programs."""


@dataclass(frozen=True)
class SplitDataset:
    """A dataset, its split, and the labels of the control task."""

    data: Dataset
    rows: Mapping[str, np.ndarray]
    """By split."""
    shuffled: Sequence[np.ndarray]
    """`SHUFFLES` times shuffled labels."""
    reason: str
    """Why no probe can be fitted; empty if one can."""


@dataclass(frozen=True)
class FeatureSet:
    """One set of features of a dataset, and the rows to fit probes to."""

    split: SplitDataset
    name: str
    rows: Mapping[str, np.ndarray]
    """By split; for training and validation subsampled, if there are many."""

    @property
    def features(self) -> np.ndarray:
        """Of all rows."""
        return self.split.data.features[self.name]


@dataclass(frozen=True)
class ReducedFeatures:
    """A feature set as principal components and a column of ones."""

    source: FeatureSet
    components: Components
    x: Mapping[str, np.ndarray]
    """By split."""
    signal: np.ndarray
    """What is added to the rows labelled 1 of the planted target."""

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.components.variance)

    @cached_property
    def padded(self) -> np.ndarray:
        """The training rows, padded."""
        return self.pad(self.x["train"])

    def pad(self, x: np.ndarray) -> np.ndarray:
        """Rows filled up to `ROWS`, and components to one of `WIDTHS`."""
        width = next(width for width in WIDTHS if self.size <= width)
        padded = np.zeros((ROWS, width + 1), np.float32)
        padded[: len(x), : self.size], padded[: len(x), -1] = x[:, :-1], x[:, -1]
        return padded

    def unpad(self, weights: Array | np.ndarray) -> np.ndarray:
        """Weights, [·, feature, …], without those of the padding."""
        return np.delete(np.asarray(weights), np.s_[self.size : -1], 1)


@dataclass(frozen=True)
class Target:
    """What a probe of a feature set predicts: the labels, or those of a control or a check."""

    features: ReducedFeatures
    labels: np.ndarray
    """Of all rows."""
    planted: bool = False
    """Whether a signal for these labels is added to the features."""

    def y(self, split: str) -> np.ndarray:
        """Labels of a split."""
        return self.labels[self.features.source.rows[split]]

    def x(self, split: str) -> np.ndarray:
        """Components of a split, with the signal, if it is planted."""
        x = self.features.x[split]
        if not self.planted:
            return x
        return x + np.outer(self.y(split), self.features.signal).astype(np.float32)

    def problem(self) -> Problem:
        """The training rows as a padded problem."""
        x = self.features.pad(self.x("train")) if self.planted else self.features.padded
        y = self.y("train").astype(np.float32)
        return Problem(x, np.pad(y, (0, ROWS - len(y))), np.array(len(y), np.int32))


def split_dataset(data: Dataset, seed: int) -> SplitDataset:
    """Split a dataset and shuffle its labels."""
    rows = split_by_episode(data.episode, seed)
    reason = why_unfit(data.labels, data.episode, rows)
    rngs = [np.random.default_rng([seed, 4, number]) for number in range(SHUFFLES)]
    shuffles = [shuffle_labels(data.labels, data.episode, rows.values(), rng) for rng in rngs]
    return SplitDataset(data, rows, shuffles, reason)


def feature_sets(split: SplitDataset, seed: int) -> list[FeatureSet]:
    """Every set of features of a dataset; none if no probe can be fitted."""
    if split.reason:
        return []
    found = []
    for name, features in split.data.features.items():
        most = max(4, min(ROWS, MAX_NUMBERS // max(1, features.shape[1])))
        limits = {"train": most, "validation": most // 4}
        fewer = {of: subsample(split.rows[of], limit, seed) for of, limit in limits.items()}
        found.append(FeatureSet(split, name, {**split.rows, **fewer}))
    return found


def reduce_features(source: FeatureSet, seed: int) -> ReducedFeatures | str:
    """Compute the principal components; or say why no probe can be fitted."""
    rows = {name: source.split.data.in_features(one) for name, one in source.rows.items()}
    found = fit_components(source.features, rows.pop("train"), seed)
    if isinstance(found, str):
        return found
    components, train = found
    x = {name: components.transform(source.features, one) for name, one in rows.items()}
    x["train"] = train
    release_pages(source.features)
    if not all(np.isfinite(one).all() for one in x.values()):
        return "some features are not finite numbers"
    x = {name: np.pad(one, ((0, 0), (0, 1)), constant_values=1) for name, one in x.items()}
    signal = np.append(planted_signal(components.variance, seed), 0.0)
    return ReducedFeatures(source, components, x, signal)


def targets_of(reduced: ReducedFeatures) -> list[Target]:
    """The labels; for the memory also the shuffled labels, and last a planted signal, whose labels
    are the first shuffled ones again."""
    split = reduced.source.split
    labels = Target(reduced, split.data.labels)
    if reduced.source.name != MEMORY:
        return [labels]
    shuffled = [Target(reduced, one) for one in split.shuffled]
    return [labels, *shuffled, Target(reduced, split.shuffled[0], planted=True)]


def planted_signal(variance: np.ndarray, seed: int) -> np.ndarray:
    """A vector `DISTANCE` long in a random direction, for components that have this variance."""
    direction = np.random.default_rng([seed, 5]).standard_normal(len(variance))
    return DISTANCE * np.sqrt(variance) * direction / np.linalg.norm(direction)
