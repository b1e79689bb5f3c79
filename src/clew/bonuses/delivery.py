"""From a score to what is delivered: divided by a running standard deviation, then clipped."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.envs.observations import Observations


class RunningStd(NamedTuple):
    """Number, mean and sum of squared deviations of every score so far."""

    number: Float[Array, ""]
    mean: Float[Array, ""]
    deviations: Float[Array, ""]

    @classmethod
    def empty(cls) -> RunningStd:
        """Before the first score."""
        return cls(*jnp.zeros(3))

    def including(self, scores: Float[Array, "*any"]) -> RunningStd:
        """Merge a batch (Chan, Golub & LeVeque 1983)."""
        new = scores.size
        number = self.number + new
        apart = scores.mean() - self.mean
        mean = self.mean + apart * new / number
        within = ((scores - scores.mean()) ** 2).sum()
        between = apart**2 * self.number * new / number
        return RunningStd(number, mean, self.deviations + within + between)

    @property
    def std(self) -> Float[Array, ""]:
        """Population standard deviation."""
        return jnp.sqrt(self.deviations / jnp.maximum(self.number, 1))

    @property
    def divisor(self) -> Float[Array, ""]:
        """The deviation, or 1 while all scores are the same but for rounding."""
        return jnp.where(self.std > 1e-5 * jnp.abs(self.mean), self.std, 1.0)


class BonusState(NamedTuple):
    """A bonus's state and the scale of its scores."""

    state: Any
    scale: RunningStd

    @classmethod
    def init(
        cls, bonus: Bonus, observations: Observations, envs: int, key: PRNGKeyArray
    ) -> BonusState:
        """Before the first rollout."""
        return cls(bonus.init(observations, envs, key), RunningStd.empty())

    def intrinsic_rewards(
        self, bonus: Bonus, observations: Observations, seen: Transitions, key: PRNGKeyArray
    ) -> tuple[BonusState, Float[Array, "time env"], Float[Array, "time env"]]:
        """Score a rollout, then train on it: the scores, and what is delivered for them."""
        state, scores = bonus.score(observations, self.state, seen)
        scale = self.scale.including(scores)
        divisor = scale.divisor if bonus.normalise else 1.0
        delivered = jnp.clip(scores / divisor, 0, bonus.clip)
        return BonusState(bonus.learn(observations, state, seen, key), scale), scores, delivered
