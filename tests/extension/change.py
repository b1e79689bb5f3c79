"""A bonus: one for every step that changes what is seen."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from clew import bonuses
from clew.envs.observations import Observations


@bonuses.register("change")
@dataclasses.dataclass(frozen=True)
class Change(bonuses.Bonus[tuple[()]]):
    """One for every step that changes what is seen."""

    amount: float = 1.0

    def init(self, observations: Observations, envs: int, key: jax.Array) -> tuple[()]:
        return ()

    def score(
        self, observations: Observations, state: tuple[()], transitions: bonuses.Transitions
    ) -> tuple[tuple[()], jax.Array]:
        return (), self.amount * jnp.float32(transitions.obs != transitions.next_obs)
