"""E3B (Henaff et al. 2022): how far an observation lies outside the episode's ellipsoid."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from clew.bonuses.base import Bonus, Transitions
from clew.bonuses.registry import register
from clew.envs.observations import Observations
from clew.layers import Mlp, mlp
from clew.validate import one_of, positive_number, whole_number

Features = Float[Array, "*batch feature"]


class InverseDynamics(eqx.Module):
    """Features from which, taken of two observations in a row, the action can be told."""

    features: Mlp
    action: Mlp

    def loss(
        self,
        observations: Observations,
        obs: Shaped[Array, "pair ..."],
        action: Int[Array, " pair"],
        next_obs: Shaped[Array, "pair ..."],
    ) -> Float[Array, ""]:
        """Cross-entropy of the action."""
        before, after = (observations.through(self.features, seen) for seen in (obs, next_obs))
        logits = self.action(jnp.concatenate((before, after), -1))
        return optax.softmax_cross_entropy_with_integer_labels(logits, action).mean()


class E3BState(NamedTuple):
    """The model, its optimiser, and where every environment's episode has been."""

    model: InverseDynamics
    optimiser: Any
    root: Float[Array, "env feature feature"]
    """R with C⁻¹ = R Rᵀ."""


@register("e3b")
@dataclasses.dataclass(frozen=True)
class E3B(Bonus[E3BState]):
    """How far an observation lies outside the ellipsoid of its episode (Henaff et al. 2022).

    The paper's equation 1, with φ trained to predict the action between two observations:

        b_t = φ(o_t)ᵀ C_{t−1}⁻¹ φ(o_t),   C_t = Σ_{i≤t} φ(o_i) φ(o_i)ᵀ + ridge I

    C begins anew with every episode, whose first observation belongs to the sum. A root of the
    inverse is kept, by rank-one updates (Potter 1963): what was seen often has so small a share of
    the inverse that rounding would turn the inverse itself negative, and then without bound.
    """  # fmt: skip

    ridge: float = 1.0
    """Weight of the identity. 0.1 in E3B's own paper."""
    hidden: int = 128
    """Width of the hidden layers."""
    features: int = 64
    """Size of φ."""
    learning_rate: float = 1e-3
    """Of the inverse-dynamics model, with Adam."""
    batch: int = 512
    """Pairs in a minibatch; one epoch a rollout. Pairs that fill no batch are left out."""
    count_first: bool = True
    """Whether an episode's first observation enters C, as the equation says."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("ridge", "learning_rate"):
            positive_number(field, getattr(self, field))
        for field in ("hidden", "features", "batch"):
            whole_number(field, getattr(self, field), 1)
        one_of("count_first", self.count_first, (False, True))

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> E3BState:
        """Random features; every episode's ellipsoid a ball."""
        of_features, of_action = jax.random.split(key)
        actions = len(observations.env.action_names)
        model = InverseDynamics(
            mlp(of_features, observations.size, self.hidden, self.features),
            mlp(of_action, 2 * self.features, self.hidden, actions),
        )
        ball = jnp.broadcast_to(self._ball, (envs, *self._ball.shape))
        return E3BState(model, self._adam.init(model), ball)

    def score(
        self, observations: Observations, state: E3BState, seen: Transitions
    ) -> tuple[E3BState, Float[Array, "time env"]]:
        """Score each next observation against the observations of its episode before it."""
        before, after = (
            observations.through(state.model.features, obs) for obs in (seen.obs, seen.next_obs)
        )

        def advance(root: Array, now: Any) -> tuple[Array, Array]:
            return jax.vmap(self._advance)(root, *now)

        root, scores = jax.lax.scan(advance, state.root, (before, seen.first, after))
        return state._replace(root=root), scores

    def learn(
        self, observations: Observations, state: E3BState, seen: Transitions, key: PRNGKeyArray
    ) -> E3BState:
        """One epoch over the rollout's pairs; a pair is one step, so none spans two episodes."""
        pairs = jax.tree.map(
            lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen.obs, seen.action, seen.next_obs)
        )
        n = seen.action.size
        batch = min(self.batch, n)
        order = jax.random.permutation(key, n)[: n - n % batch].reshape(-1, batch)

        def improve(carry: Any, chosen: Array) -> tuple[Any, None]:
            model, optimiser = carry
            some = jax.tree.map(lambda leaf: leaf[chosen], pairs)
            grads = jax.grad(lambda model: model.loss(observations, *some))(model)
            change, optimiser = self._adam.update(grads, optimiser)
            return (optax.apply_updates(model, change), optimiser), None

        start = (state.model, state.optimiser)
        (model, optimiser), _ = jax.lax.scan(improve, start, order)
        return E3BState(model, optimiser, state.root)

    @property
    def _adam(self) -> Any:
        return optax.adam(self.learning_rate)

    @property
    def _ball(self) -> Float[Array, "f f"]:
        """The root before anything was seen."""
        return jnp.eye(self.features) / self.ridge**0.5

    def _advance(
        self, root: Float[Array, "f f"], before: Features, first: Array, after: Features
    ) -> tuple[Float[Array, "f f"], Float[Array, ""]]:
        start = self._ball
        if self.count_first:
            # `including` of a ball, where every product is known
            turned = before / self.ridge**0.5
            start = start - jnp.outer(turned, turned) * (_shrink(turned @ turned) / self.ridge**0.5)
        return including(jnp.where(first, start, root), after)


def including(
    root: Float[Array, "f f"], features: Features
) -> tuple[Float[Array, "f f"], Float[Array, ""]]:
    """The root after `features` were added to C, and their score before."""
    exactly = partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)
    turned = exactly(features, root)
    score = exactly(turned, turned)
    return root - jnp.outer(exactly(root, turned), turned) * _shrink(score), score


def _shrink(score: Float[Array, ""]) -> Float[Array, ""]:
    """κ with (1 − κ v vᵀ)² = 1 − v vᵀ / (1 + vᵀv), where `score` is vᵀv."""
    return 1 / (1 + score + jnp.sqrt(1 + score))
