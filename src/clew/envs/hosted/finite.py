"""What an environment hands out, as arrays for networks, which learn from finite numbers only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from clew.envs.hosted.recipe import EnvironmentFailed
from clew.envs.hosted.spaces import Batch

if TYPE_CHECKING:
    from clew.envs.hosted.environment import HostedEnvironment

Parts = tuple[np.ndarray, ...]
"""Observations of all copies; and what a perfect memory would know, if that is given."""


def parts_of(env: HostedEnvironment, batch: Batch, given: bool) -> Parts:
    """What a vector hands out, as arrays for a network."""
    parts = (env.layout.array(batch),)
    if given:
        assert env.facts is not None
        parts = (*parts, env.facts.flat(batch))
    for part in parts:
        if part.dtype.kind == "f" and (wrong := _not_finite(part)):
            raise EnvironmentFailed(
                f"{env.title} returned {wrong.replace('nan', 'NaN')} in the observation, and "
                "networks learn from finite numbers only"
            )
    return parts


def require_finite(env: HostedEnvironment, reward: Float[np.ndarray, " env"]) -> None:
    """Of the environment's own rewards, before anything is learned from them."""
    if wrong := _not_finite(reward):
        raise EnvironmentFailed(f"{env.title} paid {wrong}, which is no finite reward")


def _not_finite(numbers: np.ndarray) -> str:
    """The first of them that is not; empty if all are."""
    if math.isfinite(np.vdot(numbers, numbers)):
        return ""  # the quickest question; the squares of large numbers are no answer
    finite = np.isfinite(numbers)
    return "" if finite.all() else str(numbers[~finite][0])
