"""Many questions at once: Holm's step-down correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected so that the chance of *any* false alarm among them stays what it says.

    The smallest is multiplied by their number, the next by one less, and so on, never falling.
    NaN (a test that could not be made) stays NaN and does not count.
    """
    p = np.asarray(ps, float)
    corrected = np.full(p.shape, np.nan)
    asked = np.flatnonzero(np.isfinite(p))
    order = asked[np.argsort(p[asked], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else []
    return corrected.tolist()
