"""Episodic counts: less for every visit of an observation in the same episode."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.bonuses.registry import register
from clew.bonuses.visits import Visits
from clew.envs.observations import Observations


@register("counts")
@dataclasses.dataclass(frozen=True)
class Counts(Bonus[Visits]):
    """Counts: pays 1/√n for the n-th visit in an episode.

    The count-based bonus of Strehl & Littman (2008), with counts that start again with every
    episode:

        b_t = 1 / √N_ep(o_{t+1})

    N_ep counts the visit that is paid for, and the episode's first observation. Observations that
    are arrays are counted by their fingerprints: arrays that differ in one bit are different ones.
    """

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> Visits:
        """Nothing was visited."""
        return Visits.empty(observations.env, envs, count=True)

    def score(
        self, observations: Observations, state: Visits, transitions: Transitions
    ) -> tuple[Visits, Float[Array, "time env"]]:
        """By how often its episode has visited each next observation."""
        visits, before = state.update(transitions)
        return visits, jax.lax.rsqrt(1 + before.astype(jnp.float32))
