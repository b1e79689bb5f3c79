"""What a probe is fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clew.validate import BadInput

MEMORY = "memory"


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
    """Steps since the cue was visible, int32[n]; −1 where that has no meaning."""
    features: Mapping[str, np.ndarray]
    """float32 or float16 [n, d] by name, memory-mapped or not: "memory", and the controls
    "observation" and "untrained" (the same inputs through a randomly initialised memory)."""

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
            if array.ndim != 2 or len(array) != rows or array.dtype.kind != "f":
                raise BadInput(
                    f"features[{name!r}] is a {array.dtype} array of shape {array.shape}; "
                    f"it must be floats of shape ({rows}, …)"
                )
