"""RIDE (Raileanu & Rocktäschel 2020): how much an action changed, less for what was visited."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Transitions
from clew.bonuses.dynamics import Dynamics, DynamicsBonus
from clew.bonuses.registry import register
from clew.bonuses.visits import Visits
from clew.envs.observations import Observations


class RIDEState(NamedTuple):
    """The model, its optimiser, and how often each episode has visited what."""

    model: Dynamics
    optimiser: optax.OptState
    visits: Visits


@register("ride")
@dataclasses.dataclass(frozen=True)
class RIDE(DynamicsBonus[RIDEState]):
    """RIDE: pays for change, less where the episode was before.

    The distance in the space of ICM's features (Raileanu & Rocktäschel 2020):

        b_t = ‖φ(o_{t+1}) − φ(o_t)‖ / √N_ep(o_{t+1})

    N_ep counts the episode's visits of the observation, this one and the episode's first
    observation included. φ is trained as in ICM, by (1 − β) L_I + β L_F.
    """

    learning_rate: float = 1e-3
    """Of all its networks, with Adam. 1e-4 in RIDE's own paper, with RMSProp."""

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> RIDEState:
        """Random networks; nothing was visited."""
        visits = Visits.empty(observations.env, envs, count=True)
        return RIDEState(*self.init_model(observations, key), visits)

    def score(
        self, observations: Observations, state: RIDEState, transitions: Transitions
    ) -> tuple[RIDEState, Float[Array, "time env"]]:
        """The distance that each step went, by how often it led there in its episode."""
        before, after = state.model.around(observations, transitions)
        visits, times = state.visits.update(transitions)
        distance = jnp.sqrt(((after - before) ** 2).sum(-1))
        return state._replace(visits=visits), distance / jnp.sqrt(1.0 + times)

    def learn(
        self,
        observations: Observations,
        state: RIDEState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> RIDEState:
        """One epoch over the rollout's steps."""
        networks = state.model, state.optimiser
        trained = self.train_model(observations, *networks, transitions, key)
        return RIDEState(*trained, state.visits)
