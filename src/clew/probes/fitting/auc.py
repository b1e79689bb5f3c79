"""Area under the ROC curve, of all rows and by the delay since the answer was visible."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy import stats

from clew.probes.results import DelayBin


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """How often a row labelled 1 scores above one labelled 0; a tie is half. NaN without both."""
    positive = labels.astype(bool)
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return math.nan
    # Mann and Whitney's: ranks are whole or half numbers, so that the sum is exact
    total = float(stats.rankdata(scores)[positive].sum())
    return (total - ones * (ones + 1) / 2) / (ones * zeros)


def auc_by_delay(
    labels: np.ndarray, episode: np.ndarray, since: np.ndarray, scores: Mapping[str, np.ndarray]
) -> tuple[DelayBin, ...]:
    """AUC within 0, 1, 2–3, 4–7, … steps since the answer was visible, where there are any rows."""
    # 0 → 0, 1 → 1, 2–3 → 2: the number of binary digits, which frexp gives exactly
    digits = np.where(since >= 0, np.frexp(since.astype(float))[1], -1)
    bins = []
    for number in range(int(digits.max(initial=-1)) + 1):
        here = digits == number
        if here.any():
            bins.append(
                DelayBin(
                    low=2**number // 2,
                    high=2**number - 1,
                    rows=int(here.sum()),
                    episodes=len(np.unique(episode[here])),
                    auc={name: auc(labels[here], one[here]) for name, one in scores.items()},
                )
            )
    return tuple(bins)
