"""Area under the ROC curve."""

from __future__ import annotations

import math

import numpy as np


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """How often a row labelled 1 scores above one labelled 0; a tie is half. NaN without both."""
    positive = labels.astype(bool)
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return math.nan
    values, place = np.unique(scores, return_inverse=True)
    each = np.bincount(place, minlength=len(values))
    # twice the mean rank of every value: whole numbers, so that the answer is exact
    doubled = 2 * np.cumsum(each) - each + 1
    total = int(doubled[place[positive]].sum())
    return (total - ones * (ones + 1)) / (2 * ones * zeros)


def by_column(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """AUC of each column of scores."""
    return np.array([auc(labels, column) for column in scores.T])
