"""A bonus: something for every step that changes what is seen."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from clew import bonuses
from clew.envs.observations import Observations


@bonuses.register("change")
@dataclasses.dataclass(frozen=True)
class Change(bonuses.Bonus[tuple[()]]):
    """Something for every step that changes what is seen."""

    amount: float = 1.0
    """What such a step is paid."""

    def init(self, observations: Observations, envs: int, key: jax.Array) -> tuple[()]:
        """There is nothing to remember."""
        return ()

    def score(
        self, observations: Observations, state: tuple[()], transitions: bonuses.Transitions
    ) -> tuple[tuple[()], jax.Array]:
        """Observations are numbers, or arrays with axes of their own after time and environment."""
        differ = transitions.obs != transitions.next_obs
        changed = differ.any(axis=tuple(range(2, differ.ndim)))
        return state, self.amount * jnp.float32(changed)
