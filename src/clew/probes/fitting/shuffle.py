"""The null: labels that say nothing about the episodes that they are given to.

Swapping labels between single rows would be too easy a null where an answer lasts: thousands of
rows, all independent, hold an AUC near 0.5 that an honest probe of thirty test episodes cannot keep
to. So whole sequences of labels change places, step for step, within each split: how long an answer
lasts and how it depends on the step stay as they are, and what is left of the AUC is what the
clock alone gives away. Where the new sequence is too short, it begins again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def shuffled(
    labels: np.ndarray, episode: np.ndarray, splits: Iterable[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """The labels, those of each episode taken from another of its split, if it has another."""
    swapped = labels.copy()
    for rows in splits:
        groups = _groups(episode, rows)
        # round a random circle: nobody gets their own
        order = rng.permutation(len(groups))
        for taker, giver in zip(order, np.roll(order, 1), strict=True):
            swapped[groups[taker]] = np.resize(labels[groups[giver]], len(groups[taker]))
    return swapped


def _groups(episode: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The rows of each episode, in their order."""
    sorted_rows = rows[np.argsort(episode[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(episode[sorted_rows])) + 1
    return np.split(sorted_rows, starts)
