"""From a dataset to regression problems that share a few shapes, and so a few compiled programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    shuffled: np.ndarray
    """Shuffled labels, [n, SHUFFLES]."""
    reason: str
    """Why no probe can be fitted; empty if one can."""


@dataclass(frozen=True)
class FeatureSet:
    """One set of features of a dataset, and the rows to fit probes to."""

    split: SplitDataset
    name: str
    train: np.ndarray
    validation: np.ndarray
    """Rows, subsampled if there are many."""

    @property
    def features(self) -> np.ndarray:
        """Of all rows."""
        return self.split.data.features[self.name]

    @property
    def targets(self) -> np.ndarray:
        """[n, target]: the labels; for the memory also the shuffled labels, and last those of the
        planted signal, which are the first shuffled ones again."""
        own, shuffled = self.split.data.labels[:, None], self.split.shuffled
        return np.hstack((own, shuffled, shuffled[:, :1])) if self.name == MEMORY else own

    @property
    def planted(self) -> int:
        """The number of the target for which a signal is planted; 0 if there is none."""
        return self.targets.shape[1] - 1


@dataclass(frozen=True)
class Reduced:
    """A feature set as principal components and a column of ones."""

    of: FeatureSet
    components: Components
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    signal: np.ndarray
    """What is added to the rows labelled 1 of the planted target."""

    def inputs(self, split: str, target: int) -> np.ndarray:
        """Rows of a split as a target's probe is given them: with the signal, if it is planted."""
        x = getattr(self, split)
        if not target or target != self.of.planted:
            return x
        rows = self.of.split.rows["test"] if split == "test" else getattr(self.of, split)
        return x + np.outer(self.of.targets[rows, target], self.signal).astype(np.float32)

    @property
    def width(self) -> int:
        """Components after padding."""
        return next(width for width in WIDTHS if self.train.shape[1] - 1 <= width)

    def unpadded(self, weights: Array | np.ndarray) -> np.ndarray:
        """Weights, [·, feature, …], without those of the padding."""
        return np.delete(np.asarray(weights), np.s_[self.train.shape[1] - 1 : -1], 1)

    def problems(self) -> list[Problem]:
        """One for each target, padded to `ROWS` and `width`."""
        rows = len(self.train)
        targets = self.of.targets[self.of.train].T
        y = np.pad(targets.astype(np.float32), ((0, 0), (0, ROWS - rows)))
        x = [self._padded(self.train)] * len(y)
        if self.of.planted:
            x[-1] = self._padded(self.inputs("train", self.of.planted))
        return [Problem(*one, np.array(rows, np.int32)) for one in zip(x, y, strict=True)]

    def _padded(self, train: np.ndarray) -> np.ndarray:
        x = np.zeros((ROWS, self.width + 1), np.float32)
        x[: len(train), : train.shape[1] - 1], x[: len(train), -1] = train[:, :-1], 1
        return x


def split_dataset(data: Dataset, seed: int) -> SplitDataset:
    """Split a dataset and shuffle its labels."""
    rows = split_by_episode(data.episode, seed)
    reason = why_unfit(data.labels, data.episode, rows)
    rngs = [np.random.default_rng([seed, 4, number]) for number in range(SHUFFLES)]
    shuffles = [shuffle_labels(data.labels, data.episode, rows.values(), rng) for rng in rngs]
    return SplitDataset(data, rows, np.stack(shuffles, 1), reason)


def feature_sets(split: SplitDataset, seed: int) -> list[FeatureSet]:
    """Every set of features of a dataset; none if no probe can be fitted."""
    if split.reason:
        return []
    found = []
    for name, features in split.data.features.items():
        most = max(4, min(ROWS, MAX_NUMBERS // max(1, features.shape[1])))
        train = subsample(split.rows["train"], most, seed)
        validation = subsample(split.rows["validation"], most // 4, seed)
        found.append(FeatureSet(split, name, train, validation))
    return found


def reduce_features(of: FeatureSet, seed: int) -> Reduced | str:
    """Compute the principal components; or say why no probe can be fitted."""
    found = fit_components(of.features, of.train, seed)
    if isinstance(found, str):
        return found
    components, train = found
    held_out = (of.validation, of.split.rows["test"])
    splits = (train, *(components.transform(of.features, rows) for rows in held_out))
    release_pages(of.features)
    if not all(np.isfinite(x).all() for x in splits):
        return "some features are not finite numbers"
    with_ones = (np.pad(x, ((0, 0), (0, 1)), constant_values=1) for x in splits)
    signal = np.append(planted_signal(components.variance, seed), 0.0)
    return Reduced(of, components, *with_ones, signal=signal)


def planted_signal(variance: np.ndarray, seed: int) -> np.ndarray:
    """A vector `DISTANCE` long in a random direction, for components that have this variance."""
    direction = np.random.default_rng([seed, 5]).standard_normal(len(variance))
    return DISTANCE * np.sqrt(variance) * direction / np.linalg.norm(direction)
