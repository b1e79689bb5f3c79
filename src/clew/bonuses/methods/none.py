"""No bonus: the control."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.bonuses.base import Bonus, Seen, register
from clew.envs.sight import Sight


@register("none")
@dataclasses.dataclass(frozen=True)
class NoBonus(Bonus[tuple[()]]):
    """Nothing is novel."""

    def init(self, sight: Sight, envs: int, key: PRNGKeyArray) -> tuple[()]:
        """Nothing."""
        return ()

    def score(
        self, sight: Sight, state: tuple[()], seen: Seen
    ) -> tuple[tuple[()], Float[Array, "time env"]]:
        """Zero."""
        return (), jnp.zeros(seen.action.shape)
