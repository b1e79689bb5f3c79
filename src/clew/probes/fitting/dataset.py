"""What a probe is fitted to: rows, split by episode, and the labels of the control task.

Steps of one episode resemble each other and share their answer: a probe that was trained on one of
them could recognise another by its neighbours, without anything in memory that would help in a new
episode. So whole episodes are held out, and whole episodes swap labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from clew.probes.results import MEMORY, SPLITS
from clew.validate import BadInput

SHARE = 0.15
"""Share of the episodes in the validation split and in the test split; at least one episode."""
FEWEST = 3


@dataclass(frozen=True)
class Dataset:
    """A question with the answer 0 or 1, asked at many steps of many episodes of one agent."""

    labels: np.ndarray
    """The answers, uint8[n], 0 or 1."""
    episode: np.ndarray
    """The episode of each row, int32[n]. Rows of one episode are in the order of its steps.

    Equal numbers in two datasets should mean the same level: they then fall in the same split.
    """
    since: np.ndarray
    """Steps since the answer was visible, int32[n]; −1 where that has no meaning."""
    features: Mapping[str, np.ndarray]
    """float32 or float16 [n, d] by name, memory-mapped or not: "memory", and the controls
    "observation" and "untrained" (the same inputs through a randomly initialised memory)."""
    feature_rows: np.ndarray | None = None
    """If the features have other rows too: which of them belong to the labels, int[n]."""

    def __post_init__(self) -> None:
        rows = len(self.labels)
        for name in ("labels", "episode", "since"):
            array = getattr(self, name)
            if array.shape != (rows,) or array.dtype.kind not in "biu":
                raise BadInput(
                    f"{name} is a {array.dtype} array of shape {array.shape}; "
                    f"it must be whole numbers of shape ({rows},)"
                )
        if rows and (self.labels.min() < 0 or self.labels.max() > 1):
            raise BadInput(f"labels has {int(self.labels.max())}; choose 0 or 1")
        if MEMORY not in self.features:
            raise BadInput(f"features has no {MEMORY!r}; it has {sorted(self.features)}")
        for name, array in self.features.items():
            index = self.feature_rows
            fits = len(array) == rows if index is None else len(array) > index.max(initial=-1)
            if array.ndim != 2 or not fits or array.dtype.kind != "f":
                raise BadInput(
                    f"features[{name!r}] is a {array.dtype} array of shape {array.shape}; "
                    f"it must be floats of shape ({rows}, …)"
                )

    def in_features(self, rows: np.ndarray) -> np.ndarray:
        """The rows of the features that belong to some rows of the dataset."""
        return rows if self.feature_rows is None else self.feature_rows[rows]


def split_by_episode(episode: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Rows of each split. It depends only on the seed and on which episodes there are."""
    episodes = np.unique(episode)
    order = np.random.default_rng([seed, 1]).permutation(episodes)
    few = max(1, round(SHARE * len(episodes)))
    held = {"validation": order[:few], "test": order[few : 2 * few], "train": order[2 * few :]}
    return {name: np.flatnonzero(np.isin(episode, held[name])) for name in SPLITS}


def why_unfit(labels: np.ndarray, episode: np.ndarray, rows: Mapping[str, np.ndarray]) -> str:
    """Why no probe can be fitted to such a split; empty if one can."""
    count = len(np.unique(episode))
    if count < FEWEST:
        return f"{count} episodes are too few to split; there must be at least {FEWEST}"
    for name in SPLITS:
        classes = np.unique(labels[rows[name]])
        if len(classes) < 2:
            return f"every label of the {name} episodes is {classes[0]}"
    return ""


def subsample(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """At most `most` of the rows: one at random from each of as many equal stretches.

    A fixed stride could coincide with the period of a task that repeats itself.
    """
    if len(rows) <= most:
        return rows
    edges = np.linspace(0, len(rows), most + 1).astype(int)
    return rows[np.random.default_rng([seed, 2]).integers(edges[:-1], edges[1:])]


def shuffle_labels(
    labels: np.ndarray, episode: np.ndarray, splits: Iterable[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Labels for the control task: those of each episode come from another of the same split.

    Shuffling single rows would make the control too weak where an answer lasts: thousands of
    independent rows have an AUC close to 0.5, closer than a probe of thirty test episodes can be.
    So whole sequences change places, step for step: how long an answer lasts and how it depends on
    the step stay as they are, and a remaining AUC above 0.5 is what the time step alone gives away.
    Where the new sequence is too short, it starts again from its beginning.
    """
    shuffled = labels.copy()
    for rows in splits:
        groups = _rows_by_episode(episode, rows)
        # each takes from the one before it in a random cycle: nobody keeps their own
        order = rng.permutation(len(groups))
        for taker, giver in zip(order, np.roll(order, 1), strict=True):
            shuffled[groups[taker]] = np.resize(labels[groups[giver]], len(groups[taker]))
    return shuffled


def _rows_by_episode(episode: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    sorted_rows = rows[np.argsort(episode[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(episode[sorted_rows])) + 1
    return np.split(sorted_rows, starts)
