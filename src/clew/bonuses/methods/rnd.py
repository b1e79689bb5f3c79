"""RND (Burda et al. 2018): how badly a network predicts a random one on an observation."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from clew.bonuses.base import RunningStd, Transitions
from clew.bonuses.distillation import Distillation
from clew.bonuses.learned import LearnedBonus
from clew.bonuses.registry import register
from clew.envs.observations import Observations
from clew.layers import Mlp
from clew.validate import positive_number, whole_number


class RNDState(NamedTuple):
    """The networks, the predictor's optimiser, and how observations are distributed."""

    networks: Distillation
    optimiser: optax.OptState
    seen: RunningStd
    """Of every number of an observation, over all that were scored."""


@register("rnd")
@dataclasses.dataclass(frozen=True)
class RND(LearnedBonus[RNDState]):
    """RND: pays for observations that are new to training.

    The error of random network distillation (Burda et al. 2018). f is a random network that never
    changes, and f̂ learns it on what was visited; μ and σ are the mean and the deviation of every
    number of the observations so far:

        b_t = ‖f̂(x) − f(x)‖² / features,   x = clip((o_{t+1} − μ) / σ, −5, 5)

    Nothing in it starts again with an episode. Where a number never varied, σ is 1. In the paper
    this bonus has a value function and a discount of its own, without episodes; here it is added to
    the reward, as the others are.
    """  # fmt: skip

    features: int = 64
    """Size of target and prediction."""
    learning_rate: float = 1e-4
    """Of the predictor, with Adam."""
    batch: int = 512
    """Observations in a minibatch; one epoch a rollout. What fills no batch is left out."""
    layers: int = 1
    """Hidden layers of both networks."""
    obs_clip: float = 5.0
    """Largest deviation of an observation from its mean, in standard deviations."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("obs_clip", self.obs_clip)
        whole_number("batch", self.batch, 1)

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> RNDState:
        """Two different random networks; nothing was seen."""
        networks = Distillation.init(key, *self.sizes(observations))
        optimiser = self.adam.init(eqx.filter(networks.predictor, eqx.is_array))
        return RNDState(networks, optimiser, RunningStd.empty(observations.size))

    def score(
        self, observations: Observations, state: RNDState, transitions: Transitions
    ) -> tuple[RNDState, Float[Array, "time env"]]:
        """The error at each next observation, whose mean and deviation are updated before."""
        obs = transitions.next_obs
        seen = state.seen.merge(transitions.first.size, *mean_and_deviations(observations, obs))
        error = partial(self._errors, observations, seen, state.networks)
        # without a table each observation is laid out in full: a few at a time
        scores = error(obs) if observations.table is not None else jax.lax.map(error, obs)
        return state._replace(seen=seen), scores

    def learn(
        self,
        observations: Observations,
        state: RNDState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> RNDState:
        """One epoch over the rollout's next observations."""
        target = state.networks.target

        def loss(predictor: Mlp, _obs: Array, _action: Array, next_obs: Array) -> Array:
            networks = Distillation(target, predictor)
            return self._errors(observations, state.seen, networks, next_obs).mean()

        predictor, optimiser = self.train_epoch(
            loss, state.networks.predictor, state.optimiser, transitions, self.batch, key
        )
        return RNDState(Distillation(target, predictor), optimiser, state.seen)

    def _errors(
        self,
        observations: Observations,
        seen: RunningStd,
        networks: Distillation,
        obs: Shaped[Array, "*batch"],
    ) -> Float[Array, "*batch"]:
        def error(flat: Float[Array, "*batch in"]) -> Float[Array, "*batch"]:
            return networks.error(
                jnp.clip((flat - seen.mean) / seen.divisor, -self.obs_clip, self.obs_clip)
            )

        return observations.through(error, obs)


def mean_and_deviations(
    observations: Observations, obs: Shaped[Array, "time env *obs"]
) -> tuple[Float[Array, " in"], Float[Array, " in"]]:
    """Mean and sum of squared deviations of every number of these observations."""
    if observations.table is not None:
        table = jnp.asarray(observations.table.reshape(-1, observations.size))
        times = jnp.bincount(obs.ravel(), length=len(table)).astype(table.dtype)
        over_all = partial(jnp.dot, times, precision=jax.lax.Precision.HIGHEST)
        mean = over_all(table) / obs.size
        return mean, over_all((table - mean) ** 2)

    def of_step(obs: Array) -> tuple[Array, Array]:
        flat = observations.through(lambda x: x, obs)
        return flat.mean(0), ((flat - flat.mean(0)) ** 2).sum(0)

    means, within = jax.lax.map(of_step, obs)
    mean = means.mean(0)
    return mean, within.sum(0) + obs.shape[1] * ((means - mean) ** 2).sum(0)
