"""Features that are trained by predicting the action, and what comes of it (Pathak et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from clew.bonuses.base import Transitions
from clew.envs.observations import Observations
from clew.layers import Mlp, mlp
from clew.validate import BadInput, positive_number

Features = Float[Array, "*batch feature"]
M = TypeVar("M")


class InverseDynamics(eqx.Module):
    """Predicts the action from the features of the observations before and after it."""

    features: Mlp
    action: Mlp

    @classmethod
    def init(
        cls, key: PRNGKeyArray, observations: Observations, hidden: int, layers: int, features: int
    ) -> InverseDynamics:
        """Random features, of `layers` hidden layers."""
        features_key, action_key = jax.random.split(key)
        actions = len(observations.env.action_names)
        return cls(
            mlp(features_key, observations.size, *[hidden] * layers, features),
            mlp(action_key, 2 * features, hidden, actions),
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
    def init(
        cls, key: PRNGKeyArray, observations: Observations, hidden: int, layers: int, features: int
    ) -> Dynamics:
        """All random."""
        inverse_key, forward_key = jax.random.split(key)
        actions = len(observations.env.action_names)
        return cls(
            InverseDynamics.init(inverse_key, observations, hidden, layers, features),
            mlp(forward_key, features + actions, hidden, features),
        )

    def look(self, observations: Observations, obs: Shaped[Array, "*batch"]) -> Features:
        """φ of observations."""
        return self.inverse.look(observations, obs)

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
        before, after = (self.look(observations, each) for each in (obs, next_obs))
        forward = self.surprise(before, action, after).mean()
        inverse = self.inverse.cross_entropy(before, action, after).mean()
        return (1 - beta) * inverse + beta * forward


def train_epoch(
    loss: Callable[..., Float[Array, ""]],
    model: M,
    optimiser: optax.OptState,
    adam: optax.GradientTransformation,
    transitions: Transitions,
    batch: int,
    key: PRNGKeyArray,
    weight: Float[Array, "time env"] | None = None,
) -> tuple[M, optax.OptState]:
    """One epoch of `loss(model, obs, action, next_obs)` over a rollout's steps, in minibatches.

    With a `weight` of every step, that is the last argument.

    A pair of observations is one step, so none spans two episodes. What fills no batch is left out.
    """
    steps = (transitions.obs, transitions.action, transitions.next_obs)
    steps += () if weight is None else (weight,)
    pairs = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), steps)
    n = transitions.first.size
    batch = min(batch, n)
    order = jax.random.permutation(key, n)[: n - n % batch].reshape(-1, batch)

    def minibatch(carry: tuple[M, Any], chosen: Array) -> tuple[tuple[M, Any], None]:
        model, optimiser = carry
        grads = jax.grad(loss)(model, *jax.tree.map(lambda leaf: leaf[chosen], pairs))
        updates, optimiser = adam.update(grads, optimiser)
        return (eqx.apply_updates(model, updates), optimiser), None

    return jax.lax.scan(minibatch, (model, optimiser), order)[0]


def share_below_one(field: str, value: object) -> None:
    """Raise an error unless `value` is a share: above 0, below 1."""
    if positive_number(field, value) >= 1:
        raise BadInput(f"{field}={value!r} is not valid; it must be below 1")
