"""NovelD (Zhang et al. 2021): stepping from the known to the new, once per episode."""

from __future__ import annotations

import dataclasses
from typing import Literal, NamedTuple

import equinox as eqx
import jax
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
from clew.bonuses.distillation import Distillation
from clew.bonuses.learned import LearnedBonus
from clew.bonuses.registry import register
from clew.bonuses.visits import Visits
from clew.envs.observations import Observations
from clew.layers import Mlp
from clew.validate import one_of, positive_number


class NovelDState(NamedTuple):
    """The networks, the predictor's optimiser, and what each episode has seen."""

    networks: Distillation
    optimiser: optax.OptState
    visits: Visits


@register("noveld")
@dataclasses.dataclass(frozen=True)
class NovelD(LearnedBonus[NovelDState]):
    """NovelD: pays for steps from the familiar to the new.

    The gain in novelty from one observation to the next, once an episode (Zhang et al. 2021). The
    paper's equation 2, with w the error of random network distillation:

        b_t = max(w(o_{t+1}) − α w(o_t), 0) · [o_{t+1} is new to this episode]

    An episode's first observation counts as seen.
    """  # fmt: skip

    alpha: float = 0.5
    """Share of the novelty of o_t that is subtracted."""
    features: int = 64
    """Size of target and prediction."""
    learning_rate: float = 1e-4
    """Of the predictor, with Adam: one step over the whole rollout."""
    novelty: Literal["squared", "norm"] = "squared"
    """w: the mean squared error, as in RND's paper, or its root, as in NovelD's own code."""
    layers: int = 1
    """Hidden layers of both networks."""
    boundary: Boundary = "final"
    """What the step that ends an episode is scored on: final, stale, fresh, zero or unpaid."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("alpha", self.alpha)
        one_of("novelty", self.novelty, ("squared", "norm"))
        one_of("boundary", self.boundary, BOUNDARIES)

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> NovelDState:
        """Two different random networks."""
        networks = Distillation.init(key, *self.sizes(observations))
        optimiser = self.adam.init(eqx.filter(networks.predictor, eqx.is_array))
        return NovelDState(networks, optimiser, Visits.empty(observations.env, envs))

    def score(
        self, observations: Observations, state: NovelDState, transitions: Transitions
    ) -> tuple[NovelDState, Float[Array, "time env"]]:
        """The gain in novelty, if the next observation is new to its episode."""
        transitions = transitions._replace(next_obs=scored_obs(self.boundary, transitions))
        errors = [
            observations.through(state.networks.error, obs, linear_first=True)
            for obs in (transitions.obs, transitions.next_obs)
        ]
        before, after = errors if self.novelty == "squared" else map(jnp.sqrt, errors)
        visits, seen = state.visits.update(transitions)
        new = seen == 0
        if self.boundary in AS_A_FIRST:
            new |= last_steps(transitions)
        if self.boundary == "zero":
            new &= ~last_steps(transitions)
        scores = jnp.maximum(after - self.alpha * before, 0) * new
        return state._replace(visits=visits), scores

    def paid(self, state: NovelDState, transitions: Transitions) -> Bool[Array, "time env"] | None:
        """All steps, or those that end no episode."""
        return paid_steps(self.boundary, transitions)

    def learn(
        self,
        observations: Observations,
        state: NovelDState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> NovelDState:
        """One step of Adam on the predictor's error over the rollout."""
        target, predictor = state.networks.target, state.networks.predictor
        scored = scored_obs(self.boundary, transitions)

        def loss(predictor: Mlp) -> Float[Array, ""]:
            error = Distillation(target, predictor).error
            return observations.through(error, scored, linear_first=True).mean()

        updates, optimiser = self.adam.update(jax.grad(loss)(predictor), state.optimiser)
        predictor = eqx.apply_updates(predictor, updates)
        return NovelDState(Distillation(target, predictor), optimiser, state.visits)
