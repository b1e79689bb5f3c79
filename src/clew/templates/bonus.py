"""TEMPLATE_NAME: a bonus. It works as it is; change one thing at a time.

It pays for observations that are far from the average one.

    python -m pytest test_template_module.py     the laws that every bonus obeys
    clew list TEMPLATE_NAME --module template_module
    clew run template_module.toml --store results && clew report results
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from clew import bonuses
from clew.envs.observations import Observations


# The name is what suites and commands know the bonus by. The first line of the docstring is what
# `clew list` shows, and the texts below fields are what it says of options. Two are inherited:
# `normalise` (divide by the deviation of all scores so far) and `clip`.
@bonuses.register("TEMPLATE_NAME")
@dataclasses.dataclass(frozen=True)
class TemplateClass(bonuses.Bonus[jax.Array]):
    """The distance from the average observation so far."""

    rate: float = 0.1
    """How far a rollout moves the average."""

    # These are compiled: use jax.numpy, and `jnp.where` in the place of `if`.

    def init(self, observations: Observations, envs: int, key: jax.Array) -> jax.Array:
        """The state before the first rollout, for one run: arrays, or a tree of them."""
        return jnp.zeros(observations.size)

    def score(
        self, observations: Observations, state: jax.Array, transitions: bonuses.Transitions
    ) -> tuple[jax.Array, jax.Array]:
        """One number for each next observation of a rollout, [time, env], none below zero.

        `transitions` are observations and actions, and whether an episode begins: no rewards.
        """

        def distance(flat: jax.Array) -> jax.Array:
            return jnp.sqrt(((flat - state) ** 2).sum(-1))

        # once for every symbol, where observations are numbered
        return state, observations.through(distance, transitions.next_obs)

    def learn(
        self,
        observations: Observations,
        state: jax.Array,
        transitions: bonuses.Transitions,
        key: jax.Array,
    ) -> jax.Array:
        """Learn from the rollout that was just scored; leave this out if there is nothing to."""
        seen = observations.through(lambda flat: flat, transitions.next_obs)
        return state + self.rate * (seen.mean((0, 1)) - state)
