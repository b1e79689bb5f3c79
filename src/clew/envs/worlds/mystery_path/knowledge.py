"""MysteryPath: which tiles were found to be on the path, and which off it, around the agent."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from clew.envs.knowledge import Knowledge
from clew.envs.worlds.mystery_path.world import MysteryPath

MOVES = np.array([[0, -1], [-1, 0], [0, 1], [1, 0]])
"""Steps in x and y, by heading."""


class Tested(NamedTuple):
    """The tiles that the agent has stood on, and where it stands."""

    on: Bool[Array, " tile"]
    off: Bool[Array, " tile"]
    stood: Bool[Array, " tile"]
    """The goal is none of them, or the episode would be over."""
    origin: Int[Array, ""]
    tile: Int[Array, ""]
    heading: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Map(Knowledge[Tested]):
    """Maps with the agent in their middle, turned so that it faces up (with cardinal actions, north
    is up): tiles found to be on the path, those found to be off it, and the origin.

    If the goal is drawn, there is a map of it. If falls are not marked, they show in the next step,
    when the agent is put back; not even then if it would have walked to the origin with the same
    heading anyway. So there is also a map of tiles that were stood on.
    """

    env: MysteryPath

    @property
    def names(self) -> tuple[str, ...]:
        """Maps outermost, then columns from the left, then rows from the top."""
        reach = range(1 - self.env.size, self.env.size)
        return tuple(
            f"{plane}, {x:+d} right and {-y:+d} ahead"
            for plane in self._planes
            for x in reach
            for y in reach
        )

    def start(self, obs: Int[Array, ""]) -> Tested:
        """The origin is on the path."""
        tile, heading, _, _ = self.env.images.parts(obs)
        here = self._at(tile)
        return Tested(here, jnp.zeros_like(here), here, tile, tile, heading)

    def look(self, known: Tested, action: Int[Array, ""], obs: Int[Array, ""]) -> Tested:
        """Find out about the tile under the agent; if falls are not marked, the one before."""
        tile, heading, crossed, _ = self.env.images.parts(obs)
        here = self._at(tile)
        if self.env.visual_feedback:
            holds, falls = here & ~crossed, here & crossed
        else:
            there = self._at(known.tile)
            walked = self.env.walk(known.tile, known.heading, action)
            as_walked = (tile == walked[0]) & (heading == walked[1])
            as_put_back = (tile == known.origin) & (heading == known.heading)
            holds, falls = there & ~as_put_back, there & ~as_walked
        # what is known stays known
        new = ~(known.on | known.off)
        return Tested(
            known.on | (holds & new),
            known.off | (falls & new),
            known.stood | here,
            known.origin,
            tile,
            heading,
        )

    def array(self, known: Tested, obs: Int[Array, ""]) -> Bool[Array, " fact"]:
        """Each tile at its place in the map; what lies outside the grid is unknown."""
        planes = [known.on, known.off, self._at(known.origin)]
        if not self.env.visual_feedback:
            planes.append(known.stood)
        if self.env.show_goal:
            planes.append(self._at(self.env.images.parts(obs)[3]))
        turned = 0 if self.env.actions == "cardinal" else known.heading
        where = jnp.asarray(self._places)[known.tile, turned]
        padded = jnp.pad(jnp.stack(planes), ((0, 0), (0, 1)))
        return padded[:, where].reshape(-1)

    def _at(self, tile: Int[Array, ""]) -> Bool[Array, " tile"]:
        return jnp.arange(self.env.size**2) == tile

    @property
    def _planes(self) -> tuple[str, ...]:
        stood = () if self.env.visual_feedback else ("stood on",)
        goal = ("goal",) if self.env.show_goal else ()
        return ("on the path", "off the path", "origin", *stood, *goal)

    @cached_property
    def _places(self) -> Int[np.ndarray, "tile heading place"]:
        """The tile at each place of the map; size² where there is none."""
        size = self.env.size
        reach = np.arange(1 - size, size)
        right, down = (
            offsets.reshape(-1, 1) for offsets in np.meshgrid(reach, reach, indexing="ij")
        )
        places = np.empty((size**2, 4, right.size), np.int32)
        for tile in range(size**2):
            for heading in range(4):
                at = divmod(tile, size) + right * MOVES[heading - 1] - down * MOVES[heading]
                inside = ((at >= 0) & (at < size)).all(1)
                places[tile, heading] = np.where(inside, at @ (size, 1), size**2)
        return places
