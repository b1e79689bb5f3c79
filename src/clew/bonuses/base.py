"""The interface that every bonus speaks."""

from __future__ import annotations

import abc
import dataclasses
from typing import Generic, NamedTuple, TypeVar

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from clew.envs.observations import Observations
from clew.validate import one_of, positive_number

S = TypeVar("S")


class Transitions(NamedTuple):
    """All that a bonus may know of a rollout: what was seen and done, never what was paid."""

    obs: Shaped[Array, "time env *obs"]
    """What the agent saw when it acted."""
    first: Bool[Array, "time env"]
    """Whether that was the first observation of an episode."""
    action: Int[Array, "time env"]
    next_obs: Shaped[Array, "time env *obs"]
    """What the action led to: the last observation of the episode if it ended there."""


@dataclasses.dataclass(frozen=True)
class Bonus(abc.ABC, Generic[S]):
    """An episodic exploration bonus: options in the fields, everything else in its state.

    It scores the observation that every step leads to, from the observations alone: the agent's
    memory never reaches it, and nothing but the score reaches the agent.
    """

    normalise: bool = True
    """Divide by the standard deviation of all scores so far."""
    clip: float = 10.0
    """The most that is delivered in one step, after normalisation and before the coefficient."""

    def __post_init__(self) -> None:
        one_of("normalise", self.normalise, (False, True))
        positive_number("clip", self.clip)

    @abc.abstractmethod
    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> S:
        """The state before the first rollout, for one run of `envs` environments."""

    @abc.abstractmethod
    def score(
        self, observations: Observations, state: S, seen: Transitions
    ) -> tuple[S, Float[Array, "time env"]]:
        """Score every next observation of a rollout, in the order of time."""

    def learn(
        self, observations: Observations, state: S, seen: Transitions, key: PRNGKeyArray
    ) -> S:
        """Train on the rollout that was scored. Unless overridden, there is nothing to train."""
        return state
