"""RIDE (Raileanu & Rocktäschel 2020): how much an action changed, less for what was visited."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.bonuses.dynamics import Dynamics, share_below_one, train_epoch
from clew.bonuses.registry import register
from clew.bonuses.visits import Visits
from clew.envs.observations import Observations
from clew.validate import positive_number, whole_number


class RIDEState(NamedTuple):
    """The model, its optimiser, and how often each episode has visited what."""

    model: Dynamics
    optimiser: optax.OptState
    visits: Visits


@register("ride")
@dataclasses.dataclass(frozen=True)
class RIDE(Bonus[RIDEState]):
    """RIDE: pays for change, less where the episode was before.

    The distance in the space of ICM's features (Raileanu & Rocktäschel 2020):

        b_t = ‖φ(o_{t+1}) − φ(o_t)‖ / √N_ep(o_{t+1})

    N_ep counts the episode's visits of the observation, this one and the episode's first
    observation included. φ is trained as in ICM, by (1 − β) L_I + β L_F.
    """

    beta: float = 0.2
    """Weight of the forward loss; the inverse one has the rest."""
    hidden: int = 128
    """Width of the hidden layers."""
    features: int = 64
    """Size of φ."""
    learning_rate: float = 1e-3
    """Of all its networks, with Adam. 1e-4 in RIDE's own paper, with RMSProp."""
    batch: int = 512
    """Pairs in a minibatch; one epoch a rollout. Pairs that fill no batch are left out."""
    layers: int = 1
    """Hidden layers of φ."""

    def __post_init__(self) -> None:
        super().__post_init__()
        share_below_one("beta", self.beta)
        positive_number("learning_rate", self.learning_rate)
        for field in ("hidden", "features", "batch", "layers"):
            whole_number(field, getattr(self, field), 1)

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> RIDEState:
        """Random networks; nothing was visited."""
        model = Dynamics.init(key, observations, self.hidden, self.layers, self.features)
        optimiser = self._adam.init(eqx.filter(model, eqx.is_array))
        return RIDEState(model, optimiser, Visits.empty(observations.env, envs, count=True))

    def score(
        self, observations: Observations, state: RIDEState, transitions: Transitions
    ) -> tuple[RIDEState, Float[Array, "time env"]]:
        """The distance that each step went, by how often it led there in its episode."""
        before, after = (
            state.model.look(observations, obs) for obs in (transitions.obs, transitions.next_obs)
        )
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

        def loss(model: Dynamics, *pairs: Array) -> Float[Array, ""]:
            return model.loss(observations, self.beta, *pairs)

        model, optimiser = train_epoch(
            loss, state.model, state.optimiser, self._adam, transitions, self.batch, key
        )
        return RIDEState(model, optimiser, state.visits)

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)
