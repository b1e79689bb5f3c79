"""What the step that ends an episode is paid for.

A vector environment that resets itself hides an episode's last observation: what its last step
returns is the first observation of the next episode. Code that scores what was returned has a
choice of four, besides scoring the last observation itself:

    final   the last observation of the episode, against the episode
    stale   the next episode's first observation, against the episode that has ended
    fresh   the next episode's first observation, against an episode without observations
    unpaid  as fresh, but that score is not paid: it only counts in the running deviation
    zero    nothing
"""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped

from clew.bonuses.base import Transitions

Boundary = Literal["final", "stale", "fresh", "zero", "unpaid"]
BOUNDARIES: tuple[Boundary, ...] = ("final", "stale", "fresh", "zero", "unpaid")
AS_A_FIRST: tuple[Boundary, ...] = ("fresh", "unpaid")
"""What scores the next episode's first observation as the first of an episode."""


def scored_obs(boundary: Boundary, transitions: Transitions) -> Shaped[Array, "time env *obs"]:
    """The observation that each step is scored on."""
    if boundary == "final" or boundary == "zero":
        return transitions.next_obs
    assert transitions.following is not None
    ended = last_steps(transitions)
    beside = ended.reshape(ended.shape + (1,) * (transitions.obs.ndim - ended.ndim))
    return jnp.where(beside, transitions.following, transitions.next_obs)


def paid_steps(boundary: Boundary, transitions: Transitions) -> Bool[Array, "time env"] | None:
    """Which steps are paid their score; None: all of them."""
    return ~last_steps(transitions) if boundary == "unpaid" else None


def last_steps(transitions: Transitions) -> Bool[Array, "time env"]:
    """Which steps ended an episode."""
    assert transitions.ended is not None
    return transitions.ended
