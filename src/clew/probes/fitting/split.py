"""Which rows are for training, for choosing a penalty, and for the score. Split by episode.

Steps of one episode resemble each other and share their answer: a probe that has seen one of them
can know another by its neighbours, without anything in memory that would help in a new episode.
"""

from __future__ import annotations

import numpy as np

from clew.probes.fitting.measured import SPLITS

SHARE = 0.15
"""Of the episodes, for validation and for the test each; at least one."""
FEWEST = 3


def split(episode: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Rows of each split. It depends on nothing but the seed and which episodes there are."""
    episodes = np.unique(episode)
    order = np.random.default_rng([seed, 1]).permutation(episodes)
    few = max(1, round(SHARE * len(episodes)))
    held = {"validation": order[:few], "test": order[few : 2 * few], "train": order[2 * few :]}
    return {name: np.flatnonzero(np.isin(episode, held[name])) for name in SPLITS}


def thinned(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """At most `most` of the rows: one at random from each of as many equal stretches.

    A fixed stride could keep step with a task that repeats itself.
    """
    if len(rows) <= most:
        return rows
    edges = np.linspace(0, len(rows), most + 1).astype(int)
    return rows[np.random.default_rng([seed, 2]).integers(edges[:-1], edges[1:])]


def unfit(labels: np.ndarray, episode: np.ndarray, rows: dict[str, np.ndarray]) -> str:
    """Why nothing can be told from such a split; empty if something can."""
    count = len(np.unique(episode))
    if count < FEWEST:
        return f"{count} episodes are too few to split; there must be at least {FEWEST}"
    for name in SPLITS:
        classes = np.unique(labels[rows[name]])
        if len(classes) < 2:
            return f"every label of the {name} episodes is {classes[0]}"
    return ""
