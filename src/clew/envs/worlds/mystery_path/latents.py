"""MysteryPath: does the tile beside the agent belong to the path, as it has found out?"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Int

from clew.envs.latent import Asked, Latent
from clew.envs.worlds.mystery_path.world import MysteryPath, PathState

SIDES = {"north": (0, -1), "west": (-1, 0), "south": (0, 1), "east": (1, 0)}
"""Steps in x and y, in the order of the world's headings."""
NEVER = -1


@dataclasses.dataclass(frozen=True)
class Neighbours(Latent[PathState, Int[Array, " tile"]]):
    """Of each of the four tiles beside the agent that was tested: is it on the path?

    Tested means that the agent has stood on the tile in this episode, be it that the ground
    held or that it fell; the origin is tested from the start. No question is asked about the tile
    under the agent.
    """

    env: MysteryPath

    @property
    def questions(self) -> tuple[str, ...]:
        """By compass, as the picture shows it; not by the agent's heading."""
        return tuple(f"the tile to the {side} is on the path" for side in SIDES)

    def start(self) -> Int[Array, " tile"]:
        """When each tile was last stood on."""
        return jnp.full(self.env.size**2, NEVER, jnp.int32)

    def look(
        self, known: Int[Array, " tile"], state: PathState
    ) -> tuple[Int[Array, " tile"], Asked]:
        """Remember the tile under the agent, then ask about those beside it."""
        size = self.env.size
        last = jnp.where(jnp.arange(size**2) == state.tile, state.t, known)
        dx, dy = jnp.asarray(tuple(SIDES.values()), jnp.int32).T
        x, y = state.tile // size + dx, state.tile % size + dy
        inside = (x >= 0) & (x < size) & (y >= 0) & (y < size)
        tile = jnp.where(inside, x * size + y, 0)
        asked = inside & (last[tile] != NEVER)
        return last, Asked(asked, state.level.path[tile], state.t - last[tile])
