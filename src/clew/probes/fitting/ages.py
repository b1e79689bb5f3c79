"""How long after the cue can it still be told?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clew.probes.fitting.auc import auc
from clew.probes.fitting.measured import Bin


def by_since(
    labels: np.ndarray, episode: np.ndarray, since: np.ndarray, scores: Mapping[str, np.ndarray]
) -> tuple[Bin, ...]:
    """AUC within 0, 1, 2–3, 4–7, … steps since the cue was visible, where there are any rows."""
    # 0 → 0, 1 → 1, 2–3 → 2: the number of binary digits, which frexp knows exactly
    place = np.where(since >= 0, np.frexp(since.astype(float))[1], -1)
    bins = []
    for number in range(int(place.max(initial=-1)) + 1):
        here = place == number
        if here.any():
            bins.append(
                Bin(
                    low=2**number // 2,
                    high=2**number - 1,
                    rows=int(here.sum()),
                    episodes=len(np.unique(episode[here])),
                    auc={name: auc(labels[here], each[here]) for name, each in scores.items()},
                )
            )
    return tuple(bins)
