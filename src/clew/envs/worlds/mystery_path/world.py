"""MysteryPath-Grid (memory-gym 1.0.2): find the invisible path by falling off it."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree, UInt8

from clew.envs.base import Environment, Rewards, Step
from clew.envs.enumeration import Enumeration
from clew.envs.knowledge import Knowledge
from clew.envs.latent import Latent
from clew.envs.tiles import Tiles
from clew.envs.worlds.mystery_path.images import Images
from clew.envs.worlds.mystery_path.levels import Level, draw_level
from clew.envs.worlds.mystery_path.picture import draw
from clew.envs.worlds.mystery_path.sprites import TILE
from clew.validate import BadInput, one_of, whole_number

TURN_LEFT, TURN_RIGHT, FORWARD = 1, 2, 3
SIDES = (0, 1, 2, 3)


class PathState(NamedTuple):
    """Where the agent is, and what this episode has shown it."""

    level: Level
    tile: Int[Array, ""]
    heading: Int[Array, ""]
    """0 north, 1 west, 2 south, 3 east."""
    off: Bool[Array, ""]
    """Fallen off the path: the next step puts the agent back, whatever is done."""
    tested: Bool[Array, " tile"]
    """Tiles the agent has stood on, on the path or not."""
    falls: Int[Array, ""]
    t: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class MysteryPath(Environment[Level, PathState]):
    """Find an invisible path by falling off; remember it.

    The path crosses a grid. Off it, the agent falls and is put back at the origin. The path stays
    the same for the episode, so that what was learned by falling is worth remembering. As in the
    package, the time limit *terminates*: `truncated` is never set.
    """

    size: int = 7
    """Tiles along each side; images are 12·size pixels wide. 7 in the package."""
    actions: Literal["egocentric", "cardinal"] = "egocentric"
    """The package turns and walks; the paper's text says four cardinal directions."""
    show_goal: bool = False
    """Draw the goal in green. Off by default in the package; the paper says it is visible."""
    show_origin: bool = False
    """Draw the origin in blue."""
    visual_feedback: bool = True
    """Mark a fall with a red cross."""
    origin_sides: tuple[int, ...] = SIDES
    """Sides on which the origin may lie: 0 left, 1 right, 2 top, 3 bottom."""
    max_steps: int = 128
    """Steps in an episode."""
    revisit: Literal["entering", "standing"] = "entering"
    """What the event `revisit` is: entering a tile where the agent has been, or standing on one."""

    obs_dtype, obs_high = np.dtype(np.uint8), 255
    event_names = ("goal", "fall", "progress", "revisit", "returned", "step")
    """goal: it stands on the goal.
    fall: it steps off the path.
    progress: it stands on a tile of the path for the first time in the episode, ends excepted.
    revisit: by its own move it enters a tile where it has been; or, with `revisit="standing"`, it
        stands on one that holds, having moved or not, and the episode goes on.
    returned: it is put back on the origin, in the step after a fall.
    step: always.
    """
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"goal": 1.0},
        "penalty": lambda world: {"goal": 1.0, "fall": -0.008 * 128 * (1 / world.max_steps)},
        "aligned": lambda world: {"goal": 1.0, "progress": 0.1},
        "distractor": lambda world: {
            "goal": 1.0,
            "revisit": 0.1 * (1 / world.max_steps),
            "returned": 0.1 * (1 / world.max_steps),
        },
    }
    """The study's arms. Its penalty, −1/T, is written −0.008 in the registry for T = 128."""

    def __post_init__(self) -> None:
        whole_number("size", self.size, 3, 16)
        one_of("actions", self.actions, ("egocentric", "cardinal"))
        for flag in ("show_goal", "show_origin", "visual_feedback"):
            one_of(flag, getattr(self, flag), (False, True))
        whole_number("max_steps", self.max_steps, 1, 10**6)
        one_of("revisit", self.revisit, ("entering", "standing"))
        if not isinstance(self.origin_sides, tuple | list) or not self.origin_sides:
            raise BadInput(
                f"origin_sides={self.origin_sides!r} is not valid; it must list some of {SIDES}"
            )
        for side in self.origin_sides:
            one_of("origin_sides", side, SIDES)
        object.__setattr__(self, "origin_sides", tuple(self.origin_sides))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Four, in both control modes."""
        if self.actions == "cardinal":
            return ("north", "west", "south", "east")
        return ("stay", "turn left", "turn right", "forward")

    @property
    def horizon(self) -> int:
        """128 in the study."""
        return self.max_steps

    @property
    def typical_length(self) -> int:
        """Three crossings and their turns; even a good agent needs more to find the path."""
        return 6 * self.size + 6

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """84×84×3 in the study."""
        return (self.size * TILE, self.size * TILE, 3)

    @property
    def alphabet(self) -> np.ndarray | None:
        """364 images; None once a drawn goal or origin, or size 12, takes them past 64 MiB.

        Symbols are handed out even then, and `decode` draws what they stand for.
        """
        return self.images.table

    @property
    def n_symbols(self) -> int:
        """Also without a table."""
        return self.images.count

    @property
    def tiles(self) -> Tiles:
        """An agent, and the goal and the origin if they are drawn, on black."""
        return self.images.laid_out

    def decode(self, obs: Int[Array, "*batch"]) -> UInt8[Array, "*batch width height 3"]:
        """Look the image up, or draw it."""
        return self.images.draw(obs, jnp) if self.alphabet is None else super().decode(obs)

    def level(self, key: PRNGKeyArray) -> Level:
        """A path between opposite sides."""
        return draw_level(key, self.size, self.origin_sides)

    def start(self, level: Level) -> tuple[PathState, Int[Array, ""]]:
        """Stand on the origin, facing north."""
        zero, no = jnp.int32(0), jnp.bool_(False)
        state = PathState(level, level.origin, zero, no, self._at(level.origin), zero, zero)
        return state, self.images.symbol(state)

    def step(
        self, state: PathState, action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[PathState, Step]:
        """Be put back after a fall, or else turn or walk; then see whether the ground holds."""
        walked, turned = self.walk(state.tile, state.heading, action)
        tile = jnp.where(state.off, state.level.origin, walked)
        heading = jnp.where(state.off, state.heading, turned)
        here = self._at(tile)
        known = (state.tested & here).any()
        goal = tile == state.level.goal
        on_path = (state.level.path & here).any()
        fall = ~on_path
        t = state.t + 1
        ended = goal | (t >= self.max_steps)
        if self.revisit == "standing":
            revisit = known & ~fall & ~ended
        else:
            revisit = known & (tile != state.tile)
        events = self.events(
            goal=goal,
            fall=fall,
            progress=on_path & ~known & ~goal,
            revisit=~state.off & revisit,
            returned=state.off,
            step=jnp.bool_(True),
        )
        after = PathState(
            state.level,
            tile,
            heading,
            fall,
            state.tested | here,
            state.falls + fall.astype(jnp.int32),
            t,
        )
        return after, Step(self.images.symbol(after), events, ended, jnp.bool_(False), goal)

    def info(self, state: PathState) -> dict[str, Array]:
        """Falls, tested tiles, and the path that is hidden from the agent."""
        grid = (self.size, self.size)
        success = state.tile == state.level.goal
        return {
            "falls": state.falls,
            "tested": state.tested.reshape(grid),
            "path": state.level.path.reshape(grid),
            "off": state.off,
            "x": state.tile // self.size,
            "y": state.tile % self.size,
            "heading": state.heading,
            "success": success,
            "is_success": success,
        }

    def latent(self) -> Latent[PathState, PyTree[Array]]:
        """Which of the tiles beside the agent, tested before, are on the path."""
        from clew.envs.worlds.mystery_path.latents import Neighbours

        return Neighbours(self)

    def knowledge(self) -> Knowledge[PyTree[Array]]:
        """A map of what was found out, around the agent."""
        from clew.envs.worlds.mystery_path.knowledge import Map

        return Map(self)

    def enumeration(self, priced: Set[str]) -> Enumeration[PathState]:
        """Path and pose; what was tested too, if the reward depends on it."""
        from clew.envs.worlds.mystery_path.enumeration import Paths

        return Paths(self, visits=bool(priced & {"progress", "revisit"}))

    def picture(self, state: PathState) -> np.ndarray:
        """Path, tested tiles, falls, goal and agent."""
        return draw(self.size, state)

    def walk(
        self, tile: Int[Array, ""], heading: Int[Array, ""], action: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Where an action leads from a tile that holds; the border stops the agent."""
        action = jnp.asarray(action, jnp.int32)
        if self.actions == "cardinal":
            heading, moves = action, jnp.bool_(True)
        else:
            turn = jnp.where(action == TURN_LEFT, 1, 0) - jnp.where(action == TURN_RIGHT, 1, 0)
            heading, moves = (heading + turn) % 4, action == FORWARD
        last = self.size - 1
        x = jnp.clip(tile // self.size + jnp.asarray([0, -1, 0, 1])[heading], 0, last)
        y = jnp.clip(tile % self.size + jnp.asarray([-1, 0, 1, 0])[heading], 0, last)
        after = jnp.where(moves, x * self.size + y, tile)
        return after.astype(jnp.int32), heading.astype(jnp.int32)

    @cached_property
    def images(self) -> Images:
        """All that can be shown, by symbol."""
        return Images(self.size, self.visual_feedback, self.show_goal, self.show_origin)

    def _at(self, tile: Int[Array, ""]) -> Bool[Array, " tile"]:
        return jnp.arange(self.size**2) == tile
