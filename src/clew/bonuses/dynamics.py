"""Features that are trained by predicting the action, and what comes of it (Pathak et al. 2017)."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from clew.bonuses.base import Transitions
from clew.bonuses.learned import LearnedBonus
from clew.envs.observations import Observations
from clew.layers import Mlp, mlp
from clew.validate import BadInput, positive_number, whole_number

Features = Float[Array, "*batch feature"]
S = TypeVar("S")


class InverseDynamics(eqx.Module):
    """Predicts the action from the features of the observations before and after it."""

    features: Mlp
    action: Mlp

    @classmethod
    def init(
        cls, key: PRNGKeyArray, observations: Observations, bonus: LearnedBonus
    ) -> InverseDynamics:
        """Random networks of the bonus's sizes."""
        features_key, action_key = jax.random.split(key)
        actions = len(observations.env.action_names)
        return cls(
            mlp(features_key, *bonus.sizes(observations)),
            mlp(action_key, 2 * bonus.features, bonus.hidden, actions),
        )

    def look(self, observations: Observations, obs: Shaped[Array, "*batch"]) -> Features:
        """φ of observations."""
        return observations.through(self.features, obs, linear_first=True)

    def cross_entropy(
        self, before: Features, action: Int[Array, "*batch"], after: Features
    ) -> Float[Array, "*batch"]:
        """−log of the probability that the action is predicted with."""
        logits = self.action(jnp.concatenate((before, after), -1))
        return optax.softmax_cross_entropy_with_integer_labels(logits, action)

    def loss(
        self,
        observations: Observations,
        obs: Shaped[Array, "pair ..."],
        action: Int[Array, " pair"],
        next_obs: Shaped[Array, "pair ..."],
        weight: Float[Array, " pair"] | None = None,
    ) -> Float[Array, ""]:
        """Cross-entropy of the action; the mean of all pairs, or of those with a `weight`."""
        before, after = (self.look(observations, each) for each in (obs, next_obs))
        errors = self.cross_entropy(before, action, after)
        if weight is None:
            return errors.mean()
        return (errors * weight).sum() / jnp.maximum(weight.sum(), 1)


class Dynamics(eqx.Module):
    """Inverse dynamics, and a network that predicts the features that an action leads to."""

    inverse: InverseDynamics
    forward: Mlp

    @classmethod
    def init(cls, key: PRNGKeyArray, observations: Observations, bonus: LearnedBonus) -> Dynamics:
        """Random networks of the bonus's sizes."""
        inverse_key, forward_key = jax.random.split(key)
        actions = len(observations.env.action_names)
        return cls(
            InverseDynamics.init(inverse_key, observations, bonus),
            mlp(forward_key, bonus.features + actions, bonus.hidden, bonus.features),
        )

    def around(
        self, observations: Observations, transitions: Transitions
    ) -> tuple[Features, Features]:
        """φ of the observations before and after each step."""
        before, after = transitions.obs, transitions.next_obs
        return self.inverse.look(observations, before), self.inverse.look(observations, after)

    def surprise(
        self, before: Features, action: Int[Array, "*batch"], after: Features
    ) -> Float[Array, "*batch"]:
        """½ ‖φ̂(o_t, a_t) − φ(o_{t+1})‖²."""
        actions = self.forward.layers[0].weight.shape[1] - before.shape[-1]
        given = jnp.concatenate((before, jax.nn.one_hot(action, actions)), -1)
        return ((self.forward(given) - after) ** 2).sum(-1) / 2

    def loss(
        self,
        observations: Observations,
        beta: float,
        obs: Shaped[Array, "pair ..."],
        action: Int[Array, " pair"],
        next_obs: Shaped[Array, "pair ..."],
    ) -> Float[Array, ""]:
        """(1 − β) cross-entropy of the action + β surprise. Both train φ."""
        before, after = (self.inverse.look(observations, each) for each in (obs, next_obs))
        forward = self.surprise(before, action, after).mean()
        inverse = self.inverse.cross_entropy(before, action, after).mean()
        return (1 - beta) * inverse + beta * forward


@dataclasses.dataclass(frozen=True)
class DynamicsBonus(LearnedBonus[S]):
    """A bonus in the space of ICM's features, which are trained by (1 − β) L_I + β L_F."""

    beta: float = 0.2
    """Weight of the forward loss; the inverse one has the rest."""
    batch: int = 512
    """Pairs in a minibatch; one epoch a rollout. Pairs that fill no batch are left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("batch", self.batch, 1)
        if positive_number("beta", self.beta) >= 1:
            raise BadInput(f"beta={self.beta!r} is not valid; it must be below 1")

    def init_model(
        self, observations: Observations, key: PRNGKeyArray
    ) -> tuple[Dynamics, optax.OptState]:
        """Random networks, and their optimiser's state."""
        model = Dynamics.init(key, observations, self)
        return model, self.adam.init(eqx.filter(model, eqx.is_array))

    def train_model(
        self,
        observations: Observations,
        model: Dynamics,
        optimiser: optax.OptState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> tuple[Dynamics, optax.OptState]:
        """One epoch over the rollout's steps."""

        def loss(model: Dynamics, *pairs: Array) -> Float[Array, ""]:
            return model.loss(observations, self.beta, *pairs)

        return self.train_epoch(loss, model, optimiser, transitions, self.batch, key)
