"""ICM (Pathak et al. 2017): how badly the features that an action leads to are predicted."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.bonuses.dynamics import Dynamics, share_below_one, train_epoch
from clew.bonuses.registry import register
from clew.envs.observations import Observations
from clew.validate import positive_number, whole_number


class ICMState(NamedTuple):
    """The model and its optimiser."""

    model: Dynamics
    optimiser: optax.OptState


@register("icm")
@dataclasses.dataclass(frozen=True)
class ICM(Bonus[ICMState]):
    """ICM: pays for steps whose outcome is not foreseen.

    The error of a forward model in the space of features that matter to the agent's actions
    (Pathak et al. 2017):

        b_t = ½ ‖φ̂(φ(o_t), a_t) − φ(o_{t+1})‖²

    φ and both models minimise (1 − β) L_I + β L_F together: L_I is the cross-entropy of the action
    as predicted from φ(o_t) and φ(o_{t+1}), L_F the mean of the error above. Nothing in it starts
    again with an episode.
    """

    beta: float = 0.2
    """Weight of the forward loss; the inverse one has the rest."""
    hidden: int = 128
    """Width of the hidden layers."""
    features: int = 64
    """Size of φ."""
    learning_rate: float = 1e-3
    """Of all its networks, with Adam."""
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

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> ICMState:
        """Random networks."""
        model = Dynamics.init(key, observations, self.hidden, self.layers, self.features)
        return ICMState(model, self._adam.init(eqx.filter(model, eqx.is_array)))

    def score(
        self, observations: Observations, state: ICMState, transitions: Transitions
    ) -> tuple[ICMState, Float[Array, "time env"]]:
        """The forward model's error."""
        before, after = (
            state.model.look(observations, obs) for obs in (transitions.obs, transitions.next_obs)
        )
        return state, state.model.surprise(before, transitions.action, after)

    def learn(
        self,
        observations: Observations,
        state: ICMState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> ICMState:
        """One epoch over the rollout's steps."""

        def loss(model: Dynamics, *pairs: Array) -> Float[Array, ""]:
            return model.loss(observations, self.beta, *pairs)

        return ICMState(
            *train_epoch(
                loss, state.model, state.optimiser, self._adam, transitions, self.batch, key
            )
        )

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)
