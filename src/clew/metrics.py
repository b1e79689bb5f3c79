"""The metric of the study. It needs no jax, so that whatever reads results can use it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

TAIL = 0.2


def tail_mean(success: Float[np.ndarray, "*run evaluation"]) -> Float[np.ndarray, "*run"]:
    """Mean over the final 20% of evaluations, at least one."""
    n = success.shape[-1]
    return np.mean(success[..., n - max(1, round(TAIL * n)) :], axis=-1)
