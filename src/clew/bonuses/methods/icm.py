"""ICM (Pathak et al. 2017): how badly the features that an action leads to are predicted."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import optax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Transitions
from clew.bonuses.dynamics import Dynamics, DynamicsBonus
from clew.bonuses.registry import register
from clew.envs.observations import Observations


class ICMState(NamedTuple):
    """The model and its optimiser."""

    model: Dynamics
    optimiser: optax.OptState


@register("icm")
@dataclasses.dataclass(frozen=True)
class ICM(DynamicsBonus[ICMState]):
    """ICM: pays for steps whose outcome is not foreseen.

    The error of a forward model in the space of features that matter to the agent's actions
    (Pathak et al. 2017):

        b_t = ½ ‖φ̂(φ(o_t), a_t) − φ(o_{t+1})‖²

    φ and both models minimise (1 − β) L_I + β L_F together: L_I is the cross-entropy of the action
    as predicted from φ(o_t) and φ(o_{t+1}), L_F the mean of the error above. Nothing in it starts
    again with an episode.
    """

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> ICMState:
        """Random networks."""
        return ICMState(*self.init_model(observations, key))

    def score(
        self, observations: Observations, state: ICMState, transitions: Transitions
    ) -> tuple[ICMState, Float[Array, "time env"]]:
        """The forward model's error."""
        before, after = state.model.around(observations, transitions)
        return state, state.model.surprise(before, transitions.action, after)

    def learn(
        self,
        observations: Observations,
        state: ICMState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> ICMState:
        """One epoch over the rollout's steps."""
        return ICMState(*self.train_model(observations, *state, transitions, key))
