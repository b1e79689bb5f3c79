"""E3B (Henaff et al. 2022): how far an observation lies outside the episode's ellipsoid."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from clew.bonuses.base import Bonus, Seen, register
from clew.envs.sight import Sight
from clew.layers import Mlp, mlp
from clew.validate import one_of, positive_number, whole_number

Features = Float[Array, "*batch feature"]


class InverseDynamics(eqx.Module):
    """Features from which, taken of two observations in a row, the action can be told."""

    features: Mlp
    action: Mlp

    def loss(
        self,
        sight: Sight,
        obs: Shaped[Array, "pair ..."],
        action: Int[Array, " pair"],
        arrival: Shaped[Array, "pair ..."],
    ) -> Float[Array, ""]:
        """Cross-entropy of the action."""
        before, after = (sight.through(self.features, seen) for seen in (obs, arrival))
        logits = self.action(jnp.concatenate((before, after), -1))
        return optax.softmax_cross_entropy_with_integer_labels(logits, action).mean()


class State(NamedTuple):
    """The model, its optimiser, and the inverse covariance of every environment's episode."""

    model: InverseDynamics
    optimiser: Any
    inverse: Float[Array, "env feature feature"]


@register("e3b")
@dataclasses.dataclass(frozen=True)
class E3B(Bonus[State]):
    """The paper's equation 1, with φ trained to predict the action between two observations:

        b_t = φ(o_t)ᵀ C_{t−1}⁻¹ φ(o_t),   C_t = Σ_{i≤t} φ(o_i) φ(o_i)ᵀ + ridge I

    C begins anew with every episode, whose first observation belongs to the sum. The inverse is
    kept by rank-one updates.
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

    def init(self, sight: Sight, envs: int, key: PRNGKeyArray) -> State:
        """Random features; every episode's ellipsoid a ball."""
        of_features, of_action = jax.random.split(key)
        actions = len(sight.env.action_names)
        model = InverseDynamics(
            mlp(of_features, sight.size, self.hidden, self.features),
            mlp(of_action, 2 * self.features, self.hidden, actions),
        )
        ball = jnp.eye(self.features) / self.ridge
        return State(model, self._adam.init(model), jnp.broadcast_to(ball, (envs, *ball.shape)))

    def score(
        self, sight: Sight, state: State, seen: Seen
    ) -> tuple[State, Float[Array, "time env"]]:
        """Score each arrival against the observations of its episode before it."""
        before, after = (
            sight.through(state.model.features, obs) for obs in (seen.obs, seen.arrival)
        )

        def advance(inverse: Array, now: Any) -> tuple[Array, Array]:
            return jax.vmap(self._advance)(inverse, *now)

        inverse, scores = jax.lax.scan(advance, state.inverse, (before, seen.first, after))
        return state._replace(inverse=inverse), scores

    def learn(self, sight: Sight, state: State, seen: Seen, key: PRNGKeyArray) -> State:
        """One epoch over the rollout's pairs; a pair is one step, so none spans two episodes."""
        pairs = jax.tree.map(
            lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen.obs, seen.action, seen.arrival)
        )
        n = seen.action.size
        batch = min(self.batch, n)
        order = jax.random.permutation(key, n)[: n - n % batch].reshape(-1, batch)

        def improve(carry: Any, chosen: Array) -> tuple[Any, None]:
            model, optimiser = carry
            some = jax.tree.map(lambda leaf: leaf[chosen], pairs)
            slope = jax.grad(lambda model: model.loss(sight, *some))(model)
            change, optimiser = self._adam.update(slope, optimiser)
            return (optax.apply_updates(model, change), optimiser), None

        start = (state.model, state.optimiser)
        (model, optimiser), _ = jax.lax.scan(improve, start, order)
        return State(model, optimiser, state.inverse)

    @property
    def _adam(self) -> Any:
        return optax.adam(self.learning_rate)

    def _advance(
        self, inverse: Float[Array, "f f"], before: Features, first: Array, after: Features
    ) -> tuple[Float[Array, "f f"], Float[Array, ""]]:
        ball = jnp.eye(self.features) / self.ridge
        if self.count_first:
            ball = ball - jnp.outer(before, before) / (self.ridge * (self.ridge + before @ before))
        inverse = jnp.where(first, ball, inverse)
        turned = jnp.dot(inverse, after, precision=jax.lax.Precision.HIGHEST)
        # rounding can take a small score below zero, and then the inverse away from one
        score = jnp.maximum(jnp.dot(after, turned, precision=jax.lax.Precision.HIGHEST), 0)
        return inverse - jnp.outer(turned, turned) / (1 + score), score
