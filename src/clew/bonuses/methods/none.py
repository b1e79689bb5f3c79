"""No bonus: the control."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Transitions
from clew.bonuses.registry import register
from clew.envs.observations import Observations


@register("none")
@dataclasses.dataclass(frozen=True)
class NoBonus(Bonus[tuple[()]]):
    """No bonus: the control."""

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> tuple[()]:
        """Nothing."""
        return ()

    def score(
        self, observations: Observations, state: tuple[()], transitions: Transitions
    ) -> tuple[tuple[()], Float[Array, "time env"]]:
        """Zero."""
        return (), jnp.zeros(transitions.action.shape)
