"""What bonuses with networks of their own have in common: sizes, Adam, and an epoch of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.envs.observations import Observations
from clew.validate import positive_number, whole_number

M = TypeVar("M")
S = TypeVar("S")


@dataclasses.dataclass(frozen=True)
class LearnedBonus(Bonus[S]):
    """A bonus whose networks are trained on every rollout that they have scored."""

    hidden: int = 128
    """Width of the hidden layers."""
    features: int = 64
    """Size of φ."""
    learning_rate: float = 1e-3
    """Of all its networks, with Adam."""
    layers: int = 1
    """Hidden layers of φ."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("learning_rate", self.learning_rate)
        for field in ("hidden", "features", "layers"):
            whole_number(field, getattr(self, field), 1)

    def sizes(self, observations: Observations) -> tuple[int, ...]:
        """Of the layers of a network from observations to features."""
        return (observations.size, *[self.hidden] * self.layers, self.features)

    @property
    def adam(self) -> optax.GradientTransformation:
        """The optimiser."""
        return optax.adam(self.learning_rate)

    def train_epoch(
        self,
        loss: Callable[..., Float[Array, ""]],
        model: M,
        optimiser: optax.OptState,
        transitions: Transitions,
        batch: int,
        key: PRNGKeyArray,
        weight: Float[Array, "time env"] | None = None,
    ) -> tuple[M, optax.OptState]:
        """One epoch of `loss(model, obs, action, next_obs)` over a rollout's steps, in minibatches.

        With a `weight` of every step, that is the last argument.

        A pair of observations is one step, so none spans two episodes. What fills no batch is left
        out.
        """
        steps = (transitions.obs, transitions.action, transitions.next_obs)
        steps += () if weight is None else (weight,)
        pairs = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), steps)
        n = transitions.first.size
        batch = min(batch, n)
        order = jax.random.permutation(key, n)[: n - n % batch].reshape(-1, batch)

        def minibatch(
            carry: tuple[M, optax.OptState], chosen: Array
        ) -> tuple[tuple[M, optax.OptState], None]:
            model, optimiser = carry
            grads = jax.grad(loss)(model, *jax.tree.map(lambda leaf: leaf[chosen], pairs))
            updates, optimiser = self.adam.update(grads, optimiser)
            return (eqx.apply_updates(model, updates), optimiser), None

        return jax.lax.scan(minibatch, (model, optimiser), order)[0]
