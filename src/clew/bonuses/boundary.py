"""What the step that ends an episode is paid for.

A vector environment that resets itself hides an episode's last observation: what its last step
returns is the first observation of the next episode. Code that scores what was returned has a
choice of three, besides scoring the last observation itself:

    final   the last observation of the episode, against the episode
    stale   the next episode's first observation, against the episode that has ended
    fresh   the next episode's first observation, against an episode without observations
    zero    nothing
"""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped

from clew.bonuses.base import Transitions

Boundary = Literal["final", "stale", "fresh", "zero"]
BOUNDARIES: tuple[Boundary, ...] = ("final", "stale", "fresh", "zero")


def scored_obs(boundary: Boundary, transitions: Transitions) -> Shaped[Array, "time env *obs"]:
    """The observation that each step is scored on."""
    if boundary == "final" or boundary == "zero":
        return transitions.next_obs
    assert transitions.following is not None
    ended = last_steps(transitions)
    beside = ended.reshape(ended.shape + (1,) * (transitions.obs.ndim - ended.ndim))
    return jnp.where(beside, transitions.following, transitions.next_obs)


def last_steps(transitions: Transitions) -> Bool[Array, "time env"]:
    """Which steps ended an episode."""
    assert transitions.ended is not None
    return transitions.ended
