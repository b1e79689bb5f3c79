"""The images of MysteryPath-Grid, numbered: which there are, and what each looks like.

An image is decided by the agent's tile and heading, whether it is crossed out (it has just
fallen), and where the goal and the origin are if these are drawn. Axes are the original's
(x, y, channel).
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from clew.envs.base import ALPHABET_BYTES
from clew.envs.tiles import Tiles
from clew.envs.worlds.mystery_path.sprites import SPRITES, TILE

if TYPE_CHECKING:
    from clew.envs.worlds.mystery_path.world import PathState

A = TypeVar("A", np.ndarray, Array)

GOAL = np.array((0, 255, 0), np.uint8)
ORIGIN = np.array((0, 0, 255), np.uint8)


@dataclasses.dataclass(frozen=True)
class Images:
    """All images that a choice of options can show."""

    size: int
    crosses: bool
    show_goal: bool
    show_origin: bool

    @property
    def tiles(self) -> int:
        """Tiles in the grid."""
        return self.size * self.size

    @property
    def count(self) -> int:
        """How many symbols there are: 364 by default."""
        ends = len(self._border) ** (self.show_origin + self.show_goal)
        return len(self._agents) * ends

    @cached_property
    def table(self) -> np.ndarray | None:
        """All images by symbol, if they fit."""
        size = self.count * (self.size * TILE) ** 2 * 3
        return self.draw(np.arange(self.count)) if size <= ALPHABET_BYTES else None

    @cached_property
    def laid_out(self) -> Tiles:
        """All images by symbol, as tiles: each black, origin or goal, and one with the agent."""
        sprites = SPRITES.reshape(-1, TILE, TILE, 3)
        agents = np.concatenate([np.zeros_like(sprites[:1]), sprites])
        grounds = np.stack([np.zeros_like(GOAL), ORIGIN, GOAL])[:, None, None, None]
        pictures = np.where(agents.any(-1, keepdims=True), agents, grounds)
        kinds = np.arange(27).reshape(pictures.shape[:2])
        agent, origin, goal = self._parts(np.arange(self.count))
        tile, heading, crossed = agent.T
        ground, ends = np.zeros_like(tile), []
        for colour, end, above in ((1, origin, (tile, goal)), (2, goal, (tile,))):
            if end is not None:
                ground = np.where(end == tile, colour, ground)
                hidden = np.any([end == other for other in above if other is not None], 0)
                ends.append(np.where(hidden, 0, end * kinds.size + kinds[colour, 0]))
        shown = [tile * kinds.size + kinds[ground, 1 + 2 * heading + crossed], *ends]
        return Tiles.of(pictures.reshape(-1, TILE, TILE, 3), self.size, np.stack(shown, 1))

    def symbol(self, state: PathState) -> Int[Array, ""]:
        """The number of the image that a state shows."""
        symbol = jnp.asarray(self._agent_symbol)[state.tile, state.heading, jnp.int32(state.off)]
        place = np.zeros(self.tiles, np.int32)
        place[self._border] = np.arange(len(self._border))
        if self.show_origin:
            symbol = symbol * len(self._border) + jnp.asarray(place)[state.level.origin]
        if self.show_goal:
            symbol = symbol * len(self._border) + jnp.asarray(place)[state.level.goal]
        return symbol

    def parts(
        self, symbol: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Int[Array, ""], Bool[Array, ""], Int[Array, ""]]:
        """The agent's tile and heading, whether it is crossed out, and the goal's tile.

        Without crosses it never is, and the goal's tile has no meaning if the goal is not drawn.
        """
        border = jnp.asarray(self._border, jnp.int32)
        goal = border[symbol % len(border)]
        agent = symbol // len(border) ** (self.show_goal + self.show_origin)
        tile, heading, crossed = jnp.asarray(self._agents, jnp.int32)[agent]
        return tile, heading, crossed == 1, goal

    def read(self, symbol: int) -> tuple[tuple[int, int, int], int | None, int | None]:
        """Of one image: the agent's (tile, heading, crossed), and the tiles of drawn ends."""
        agent, origin, goal = self._parts(np.asarray(symbol))
        tile, heading, crossed = (int(part) for part in agent)
        ends = (None if end is None else int(end) for end in (origin, goal))
        return (tile, heading, crossed), *ends  # type: ignore[return-value]

    def draw(self, symbol: A, xp: ModuleType = np) -> A:
        """The images with these numbers; with `xp=jax.numpy` it can be traced.

        Every pixel is looked up: in the sprite where it lies on the agent's tile and the sprite
        is not transparent, else in the colour of its tile.
        """
        symbol = xp.asarray(symbol)
        pixel = np.arange(self.size * TILE)
        tile_of = (pixel[:, None] // TILE) * self.size + pixel // TILE
        shape = (*symbol.shape, 1, 1)
        ground = xp.zeros((*symbol.shape, *tile_of.shape, 3), np.uint8)
        agent, *ends = self._parts(symbol, xp)
        for tile, colour in zip(ends, (ORIGIN, GOAL), strict=True):
            if tile is not None:
                there = xp.asarray(tile_of) == tile.reshape(shape)
                ground = xp.where(there[..., None], xp.asarray(colour), ground)
        tile, heading, crossed = agent[..., 0], agent[..., 1], agent[..., 2]
        sprite = xp.asarray(np.tile(SPRITES, (1, 1, self.size, self.size, 1)))[heading, crossed]
        here = xp.asarray(tile_of) == tile.reshape(shape)
        painted = here[..., None] & sprite.any(-1, keepdims=True)
        return xp.where(painted, sprite, ground)

    def _parts(self, symbol: A, xp: ModuleType = np) -> tuple[A, A | None, A | None]:
        """The agent's (tile, heading, crossed), and the tiles of origin and goal if drawn."""
        ends, tiles = len(self._border), []
        for shown in (self.show_goal, self.show_origin):
            tiles.append(xp.asarray(self._border)[symbol % ends] if shown else None)
            symbol = symbol // ends if shown else symbol
        return xp.asarray(self._agents)[symbol], tiles[1], tiles[0]

    @cached_property
    def _border(self) -> Int[np.ndarray, " tile"]:
        """Where an origin or a goal can lie."""
        x, y = np.divmod(np.arange(self.tiles), self.size)
        last = self.size - 1
        return np.flatnonzero((x == 0) | (x == last) | (y == 0) | (y == last))

    @cached_property
    def _agents(self) -> Int[np.ndarray, "symbol 3"]:
        """The reachable (tile, heading, crossed).

        A cross marks the tile just walked onto, so that no crossed agent has its back to the
        border: 8·size² − 4·size images, not 8·size².
        """
        last = self.size - 1
        tile, heading = np.divmod(np.arange(4 * self.tiles), 4)
        x, y = tile // self.size, tile % self.size
        plain = np.stack([tile, heading, np.zeros_like(tile)], 1)
        if not self.crosses:
            return plain
        enterable = np.choose(heading, [y < last, x < last, y > 0, x > 0])
        return np.concatenate([plain, plain[enterable] + (0, 0, 1)])

    @cached_property
    def _agent_symbol(self) -> Int[np.ndarray, "tile heading crossed"]:
        symbols = np.zeros((self.tiles, 4, 2), np.int32)
        symbols[tuple(self._agents.T)] = np.arange(len(self._agents))
        if not self.crosses:
            symbols[..., 1] = symbols[..., 0]
        return symbols
