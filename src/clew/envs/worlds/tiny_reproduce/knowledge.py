"""TinyReproduce: what is still to be played, as far as it was shown."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from clew.envs.knowledge import Knowledge
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce

UNKNOWN = -1


class Shown(NamedTuple):
    """The tokens so far, and the clock."""

    tokens: Int[Array, " k"]
    """`UNKNOWN` where they are not shown yet."""
    t: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class ToPlay(Knowledge[Shown]):
    """The tokens still to be played, next first: k slots, each one-hot.

    A slot is all zero where its token was not shown yet, or where nothing is left to be played.
    """

    env: TinyReproduce

    @property
    def names(self) -> tuple[str, ...]:
        """Slots outermost."""
        slots = ("next", *(f"{slot} after next" for slot in range(1, self.env.k)))
        return tuple(f"{slot}: token {token}" for slot in slots for token in range(self.env.v))

    def start(self, obs: Int[Array, ""]) -> Shown:
        """One token is known."""
        tokens = jnp.full(self.env.k, UNKNOWN, jnp.int32)
        return Shown(tokens.at[0].set(jnp.int32(obs)), jnp.int32(0))

    def look(self, known: Shown, action: Int[Array, ""], obs: Int[Array, ""]) -> Shown:
        """One more, while they are shown; all that was played was right, or this would be over."""
        t = known.t + 1
        new = (jnp.arange(self.env.k) == t) & (obs < self.env.v)
        return Shown(jnp.where(new, jnp.int32(obs), known.tokens), t)

    def array(self, known: Shown, obs: Int[Array, ""]) -> Bool[Array, " fact"]:
        """Those that were played are shifted out."""
        k = self.env.k
        played = jnp.maximum(known.t - (k - 1), 0)
        order = known.tokens[::-1] if self.env.order == "reverse" else known.tokens
        slot = jnp.arange(k)
        token = jnp.where(slot < k - played, jnp.roll(order, -played), UNKNOWN)
        return (token[:, None] == jnp.arange(self.env.v)).reshape(-1)
