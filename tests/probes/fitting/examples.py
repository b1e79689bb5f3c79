"""Small datasets about which it is known what a probe must find."""

from __future__ import annotations

import numpy as np

from clew.probes.fitting import Dataset

EPISODES, STEPS, SIZE = 200, 4, 16


def noise(seed: int, labels: np.ndarray | None = None) -> Dataset:
    """Features that say nothing; labels that are drawn anew at every step, unless given."""
    rng = np.random.default_rng([seed, 10])
    rows = EPISODES * STEPS
    drawn = rng.integers(0, 2, rows) if labels is None else labels
    return Dataset(
        labels=drawn.astype(np.uint8),
        episode=np.repeat(np.arange(EPISODES, dtype=np.int32), STEPS),
        since=np.tile(np.arange(STEPS, dtype=np.int32), EPISODES),
        features={
            name: rng.standard_normal((rows, SIZE), np.float32)
            for name in ("memory", "observation", "untrained")
        },
    )


def planted(seed: int, size: float = 6.0) -> Dataset:
    """One direction of the memory has the answer."""
    data = noise(seed)
    direction = np.random.default_rng([seed, 11]).standard_normal(SIZE)
    signal = np.outer(data.labels, direction / np.linalg.norm(direction))
    return with_memory(data, data.features["memory"] + size * signal)


def parity(seed: int) -> Dataset:
    """The answer is whether two features have one sign: no line can tell."""
    data = noise(seed)
    one, other = data.features["memory"][:, 0], data.features["memory"][:, 1]
    same = (one > 0) == (other > 0)
    return Dataset(same.astype(np.uint8), data.episode, data.since, data.features)


def fading(seed: int) -> Dataset:
    """A cue that lasts for the episode, in a memory that has lost it after the second step."""
    cue = np.random.default_rng([seed, 12]).integers(0, 2, EPISODES)
    data = noise(seed, labels=np.repeat(cue, STEPS))
    memory = data.features["memory"].copy()
    memory[:, 0] += 6.0 * data.labels * (data.since < 2)
    return with_memory(data, memory)


def familiar(seed: int) -> Dataset:
    """A memory that knows its episode and nothing else; the answer is drawn for the episode."""
    rng = np.random.default_rng([seed, 13])
    data = noise(seed, labels=np.repeat(rng.integers(0, 2, EPISODES), STEPS))
    faces = np.repeat(rng.standard_normal((EPISODES, SIZE)), STEPS, 0)
    return with_memory(data, faces + 0.01 * data.features["memory"])


def with_memory(data: Dataset, memory: np.ndarray) -> Dataset:
    return Dataset(
        data.labels, data.episode, data.since,
        {**data.features, "memory": memory.astype(np.float32)},
    )  # fmt: skip


def by_step(data: Dataset) -> Dataset:
    """The same, with every step taken for an episode."""
    rows = np.arange(len(data.labels), dtype=np.int32)
    return Dataset(data.labels, rows, data.since, data.features)
