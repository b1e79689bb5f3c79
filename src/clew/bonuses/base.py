"""The interface of every bonus, and how its scores become intrinsic rewards."""

from __future__ import annotations

import abc
import dataclasses
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Shaped

from clew.envs.observations import Observations
from clew.validate import one_of, positive_number

S = TypeVar("S")


class Transitions(NamedTuple):
    """All that a bonus knows of a rollout: observations and actions, no rewards."""

    obs: Shaped[Array, "time env *obs"]
    first: Bool[Array, "time env"]
    """Whether `obs` is the first observation of an episode."""
    action: Int[Array, "time env"]
    next_obs: Shaped[Array, "time env *obs"]
    """What the action led to: the last observation of the episode if it ended there."""
    ended: Bool[Array, "time env"] | None = None
    """Whether the action ended the episode; for bonuses with a `boundary`."""
    following: Shaped[Array, "time env *obs"] | None = None
    """What is seen next: the first observation of the next episode if this one ended."""


@dataclasses.dataclass(frozen=True)
class Bonus(abc.ABC, Generic[S]):
    """An exploration bonus: options in the fields, everything else in its state.

    It scores the observation that every step leads to, from observations and actions: the agent's
    memory never reaches it, and nothing but the score reaches the agent.
    """

    normalise: bool = True
    """Divide by the standard deviation of all scores so far."""
    clip: float = 10.0
    """The largest intrinsic reward of a step, after normalisation and before the coefficient."""

    def __post_init__(self) -> None:
        one_of("normalise", self.normalise, (False, True))
        positive_number("clip", self.clip)

    @abc.abstractmethod
    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> S:
        """The state before the first rollout, for one run of `envs` environments."""

    @abc.abstractmethod
    def score(
        self, observations: Observations, state: S, transitions: Transitions
    ) -> tuple[S, Float[Array, "time env"]]:
        """Score every next observation of a rollout, in the order of time."""

    def paid(self, state: S, transitions: Transitions) -> Bool[Array, "time env"] | None:
        """Which steps are paid their score; None, unless overridden: all of them.

        The state is that after `learn`.
        """
        return None

    def learn(
        self, observations: Observations, state: S, transitions: Transitions, key: PRNGKeyArray
    ) -> S:
        """Train on the rollout that was scored. Unless overridden, there is nothing to train."""
        return state


class RunningStd(NamedTuple):
    """Number, mean and sum of squared deviations of every score so far; or of arrays, by entry."""

    number: Float[Array, "*shape"]
    mean: Float[Array, "*shape"]
    deviations: Float[Array, "*shape"]

    @classmethod
    def empty(cls, *shape: int) -> RunningStd:
        """Before the first score."""
        return cls(*jnp.zeros((3, *shape)))

    def update(self, scores: Float[Array, "*any"]) -> RunningStd:
        """With a batch of numbers."""
        mean = scores.mean()
        return self.merge(scores.size, mean, ((scores - mean) ** 2).sum())

    def merge(
        self, new: int, mean: Float[Array, "*shape"], deviations: Float[Array, "*shape"]
    ) -> RunningStd:
        """With what is known of `new` others (Chan, Golub & LeVeque 1983)."""
        number = self.number + new
        delta = mean - self.mean
        between = delta**2 * self.number * new / number
        return RunningStd(
            number, self.mean + delta * new / number, self.deviations + deviations + between
        )

    @property
    def std(self) -> Float[Array, "*shape"]:
        """Population standard deviation."""
        return jnp.sqrt(self.deviations / jnp.maximum(self.number, 1))

    @property
    def divisor(self) -> Float[Array, "*shape"]:
        """The deviation, or 1 while all scores are the same but for rounding.

        NaN once a score was infinite, or so large that its square is: the run is then recorded as
        diverged.
        """
        divisor = jnp.where(self.std > 1e-5 * jnp.abs(self.mean), self.std, 1.0)
        return jnp.where(jnp.isfinite(self.std), divisor, jnp.nan)


class BonusState(NamedTuple):
    """A bonus's own state, and the running deviation of its scores."""

    state: PyTree[Array]
    scale: RunningStd

    @classmethod
    def init(
        cls, bonus: Bonus, observations: Observations, envs: int, key: PRNGKeyArray
    ) -> BonusState:
        """Before the first rollout."""
        return cls(bonus.init(observations, envs, key), RunningStd.empty())

    @jax.named_scope("bonus")
    def intrinsic_rewards(
        self, bonus: Bonus, observations: Observations, transitions: Transitions, key: PRNGKeyArray
    ) -> tuple[BonusState, Float[Array, "time env"], Float[Array, "time env"]]:
        """Score a rollout, then train on it. Returns the raw scores, and the same normalised."""
        state, scores = bonus.score(observations, self.state, transitions)
        scale = self.scale.update(scores)
        divisor = scale.divisor if bonus.normalise else 1.0
        normalised = jnp.clip(scores / divisor, 0, bonus.clip)
        state = bonus.learn(observations, state, transitions, key)
        return BonusState(state, scale), scores, normalised
