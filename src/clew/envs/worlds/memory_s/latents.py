"""MiniGrid-MemoryS: which object was in the start room?"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Int

from clew.envs.latent import Asked, Latent
from clew.envs.worlds.memory_s.world import CorridorState, MemoryS

UNSEEN = -1


@dataclasses.dataclass(frozen=True)
class Cue(Latent[CorridorState, Int[Array, ""]]):
    """The cue's identity, at every step at which it has been in view earlier and is not now.

    In view means that the observation would differ, had the room held the other object.
    """

    env: MemoryS

    @property
    def questions(self) -> tuple[str, ...]:
        """One."""
        return ("the cue is a ball",)

    def start(self) -> Int[Array, ""]:
        """Not seen yet."""
        return jnp.int32(UNSEEN)

    def look(self, known: Int[Array, ""], state: CorridorState) -> tuple[Int[Array, ""], Asked]:
        """Count the steps since it was last in view."""
        info = self.env.info(state)
        since = jnp.where(known == UNSEEN, UNSEEN, known + 1)
        since = jnp.where(info["cue_visible"], 0, since).astype(jnp.int32)
        return since, Asked((since > 0)[None], (info["cue"] == 1)[None], since[None])
