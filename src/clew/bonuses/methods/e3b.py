"""E3B (Henaff et al. 2022): how far an observation lies outside the episode's ellipsoid."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.bonuses.base import Transitions
from clew.bonuses.boundary import (
    AS_A_FIRST,
    BOUNDARIES,
    Boundary,
    last_steps,
    paid_steps,
    scored_obs,
)
from clew.bonuses.dynamics import InverseDynamics
from clew.bonuses.ellipsoid import distances, empty_root
from clew.bonuses.learned import LearnedBonus
from clew.bonuses.registry import register
from clew.envs.observations import Observations
from clew.validate import one_of, positive_number, whole_number


class E3BState(NamedTuple):
    """The model, its optimiser, and every environment's C⁻¹."""

    model: InverseDynamics
    optimiser: optax.OptState
    root: Float[Array, "env feature feature"]
    """R with C⁻¹ = R Rᵀ."""


@register("e3b")
@dataclasses.dataclass(frozen=True)
class E3B(LearnedBonus[E3BState]):
    """E3B: pays for observations unlike the others of the episode.

    How far an observation lies outside the episode's ellipsoid (Henaff et al. 2022). The paper's
    equation 1, with φ trained to predict the action between two observations:

        b_t = φ(o_t)ᵀ C_{t−1}⁻¹ φ(o_t),   C_t = Σ_{i≤t} φ(o_i) φ(o_i)ᵀ + ridge I

    C starts again with every episode, whose first observation is in the sum.
    """  # fmt: skip

    ridge: float = 1.0
    """Weight of the identity. 0.1 in E3B's own paper."""
    batch: int = 512
    """Pairs in a minibatch; one epoch a rollout. Pairs that fill no batch are left out."""
    count_first: bool = True
    """Whether an episode's first observation enters C, as the equation says."""
    max_score: float | None = None
    """Larger scores are cut to it before they are normalised; None: they are not."""
    boundary: Boundary = "final"
    """What the step that ends an episode is scored on: final, stale, fresh, zero or unpaid."""
    last_pairs: bool = True
    """Whether φ is trained on the steps that end episodes, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("ridge", self.ridge)
        whole_number("batch", self.batch, 1)
        one_of("boundary", self.boundary, BOUNDARIES)
        for field in ("count_first", "last_pairs"):
            one_of(field, getattr(self, field), (False, True))
        if self.max_score is not None:
            positive_number("max_score", self.max_score)

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> E3BState:
        """Random features; C is `ridge` times the identity."""
        model = InverseDynamics.init(key, observations, self)
        root = empty_root(self.features, self.ridge)
        optimiser = self.adam.init(eqx.filter(model, eqx.is_array))
        return E3BState(model, optimiser, jnp.broadcast_to(root, (envs, *root.shape)))

    def score(
        self, observations: Observations, state: E3BState, transitions: Transitions
    ) -> tuple[E3BState, Float[Array, "time env"]]:
        """Score each next observation against the observations of its episode before it."""
        before, after = (
            state.model.look(observations, obs)
            for obs in (transitions.obs, scored_obs(self.boundary, transitions))
        )

        root, scores = distances(
            state.root, before, transitions.first, after, self.ridge, self.count_first
        )
        if self.boundary in AS_A_FIRST:
            alone = (after**2).sum(-1) / self.ridge
            scores = jnp.where(last_steps(transitions), alone, scores)
        if self.boundary == "zero":
            scores = jnp.where(last_steps(transitions), 0, scores)
        scores = scores if self.max_score is None else jnp.minimum(scores, self.max_score)
        return state._replace(root=root), scores

    def paid(self, state: E3BState, transitions: Transitions) -> Bool[Array, "time env"] | None:
        """All steps, or those that end no episode."""
        return paid_steps(self.boundary, transitions)

    def learn(
        self,
        observations: Observations,
        state: E3BState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> E3BState:
        """One epoch over the rollout's pairs; a pair is one step, so none spans two episodes."""
        kept = None if self.last_pairs else (~last_steps(transitions)).astype(jnp.float32)

        def loss(model: InverseDynamics, *pairs: Array) -> Float[Array, ""]:
            return model.loss(observations, *pairs)

        model, optimiser = self.train_epoch(
            loss, state.model, state.optimiser, transitions, self.batch, key, kept
        )
        return E3BState(model, optimiser, state.root)
