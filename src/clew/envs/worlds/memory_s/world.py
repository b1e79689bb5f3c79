"""MiniGrid-MemoryS (MiniGrid 3.2): the cue is near the start, the choice at the far end."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from clew.envs.base import Environment, Rewards, Step
from clew.envs.enumeration import Enumeration
from clew.envs.knowledge import Knowledge
from clew.envs.latent import Latent
from clew.envs.worlds.memory_s import SIZES
from clew.envs.worlds.memory_s.layout import KEY
from clew.envs.worlds.memory_s.picture import draw
from clew.envs.worlds.memory_s.tables import Tables, build
from clew.validate import one_of, whole_number

VIEWS = (3, 5, 7)
DONE = 6

Level = Int[Array, ""]
"""The row of the table in which the episode starts."""


class CorridorState(NamedTuple):
    """A row of the table, the clock, and the cells the agent has stood on."""

    row: Int[Array, ""]
    t: Int[Array, ""]
    visited: Bool[Array, " cell"]


@dataclasses.dataclass(frozen=True)
class MemoryS(Environment[Level, CorridorState]):
    """Remember an object seen at the start of a corridor.

    It is in the start room; at the far end there are two, and the agent must turn to the one that
    matches. Actions are MiniGrid's seven. Only the first three do anything here: nothing can be
    carried or opened, so that 3 to 6 let time pass. Observations are one-hot, without the heading
    or the mission.
    """

    size: int = 13
    """Width and height of the map; odd, from 7 to 17."""
    view: int = 3
    """Width and depth of what the agent sees: 3 in the study's main arms, 7 in the package."""
    random_length: bool = False
    """Draw the length of the hallway anew each episode (the package's `Random` ids)."""
    max_steps: int | None = None
    """Steps before truncation; 5 size² unless given."""
    revisit: Literal["entering", "standing"] = "entering"
    """What the event `revisit` is: entering a cell where the agent has been, or standing on one."""

    obs_dtype, obs_high = np.dtype(np.uint8), 1
    event_names = ("goal", "wrong", "lateness", "move", "revisit", "step")
    """goal: it enters the cell beside the object that matches.
    wrong: it enters the cell beside the other.
    lateness: on success, the part of the time limit that was used up; otherwise 0.
    move: any action but `done`.
    revisit: it enters a cell where it has been; or, with `revisit="standing"`, it stands on one,
        having moved or not, and the episode goes on.
    step: always.
    """
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"goal": 1.0},
        "penalty": lambda world: {"goal": 1.0, "move": -1 / world.horizon},
        "distractor": lambda world: {"goal": 1.0, "revisit": 0.1 * (1 / world.horizon)},
        "native": lambda world: {"goal": 1.0, "lateness": -0.9},
    }
    """`native` is MiniGrid's own; the others are the study's, whose goal pays a flat +1."""

    def __post_init__(self) -> None:
        one_of("size", self.size, SIZES)
        one_of("view", self.view, VIEWS)
        one_of("random_length", self.random_length, (False, True))
        one_of("revisit", self.revisit, ("entering", "standing"))
        if self.max_steps is not None:
            whole_number("max_steps", self.max_steps, 1, 10**6)

    @property
    def tables(self) -> Tables:
        """The whole environment, as a table of its states."""
        return build(self.size, self.view, self.random_length)

    @property
    def action_names(self) -> tuple[str, ...]:
        """MiniGrid's names and order."""
        return ("left", "right", "forward", "pickup", "drop", "toggle", "done")

    @property
    def horizon(self) -> int:
        """845 for S13."""
        return self.max_steps or 5 * self.size**2

    @property
    def typical_length(self) -> int:
        """The shortest episode, as levels cost little."""
        return self.shortest_length

    @property
    def shortest_length(self) -> int:
        """From the end of the hallway: forward, turn, forward."""
        return min(3, self.horizon)

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """Column, row, bits."""
        return (int(self.view), int(self.view), 20)

    @property
    def alphabet(self) -> np.ndarray:
        """58 observations for S13 with the 3×3 view, 105 with the 7×7 view."""
        return self.tables.alphabet

    def level(self, key: PRNGKeyArray) -> Level:
        """Hallway length, then place in it, then objects: each uniform."""
        tables = self.tables
        length_key, start_key, objects_key = jax.random.split(key, 3)
        length = jax.random.randint(length_key, (), 0, len(tables.n_starts), jnp.int32)
        start = jax.random.randint(start_key, (), 0, jnp.asarray(tables.n_starts)[length])
        objects = jax.random.randint(objects_key, (), 0, 4)
        return jnp.asarray(tables.starts, jnp.int32)[length, start, objects]

    def start(self, level: Level) -> tuple[CorridorState, Int[Array, ""]]:
        """Stand in the middle row, facing east."""
        state = CorridorState(level, jnp.int32(0), self._here(level))
        return state, self._column("symbol", level)

    def step(
        self, state: CorridorState, action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[CorridorState, Step]:
        """Look up where the action leads."""
        row = jnp.asarray(self.tables.next_state, jnp.int32)[state.row, action]
        t = state.t + 1
        here = self._here(row)
        goal, wrong = self._column("success", row), self._column("failure", row)
        if self.revisit == "standing":
            counts = ~(goal | wrong | (t >= self.horizon))
        else:
            counts = self._column("cell", row) != self._column("cell", state.row)
        events = self.events(
            goal=goal,
            wrong=wrong,
            # the part of the time that was used up when the goal was reached; as a product, which
            # every compiler rounds alike
            lateness=jnp.where(goal, t * (1 / self.horizon), 0),
            move=action != DONE,
            revisit=counts & (state.visited & here).any(),
            step=jnp.bool_(True),
        )
        after = CorridorState(row, t, state.visited | here)
        obs = self._column("symbol", row)
        return after, Step(obs, events, goal | wrong, t >= self.horizon, goal)

    def info(self, state: CorridorState) -> dict[str, Array]:
        """Whether the cue is in view, and what is hidden from the agent."""
        tables = self.tables
        layout = jnp.asarray(tables.layout)[state.row]
        x, y, heading = jnp.asarray(tables.pose)[state.row]
        success = self._column("success", state.row)
        return {
            "cue_visible": self._column("cue_visible", state.row),
            "cue": jnp.asarray([one.cue - KEY for one in tables.layouts])[layout],
            "upper": jnp.asarray([one.upper - KEY for one in tables.layouts])[layout],
            "hallway_end": jnp.asarray([one.hallway_end for one in tables.layouts])[layout],
            "x": x,
            "y": y,
            "heading": heading,
            "success": success,
            "is_success": success,
        }

    def latent(self) -> Latent[CorridorState, PyTree[Array]]:
        """Which object was in the start room."""
        from clew.envs.worlds.memory_s.latents import Cue

        return Cue(self)

    def knowledge(self) -> Knowledge[PyTree[Array]]:
        """What is still possible: objects and pose."""
        from clew.envs.worlds.memory_s.knowledge import Possible

        return Possible(self)

    def enumeration(self, priced: Set[str]) -> Enumeration[CorridorState]:
        """Objects and pose."""
        from clew.envs.worlds.memory_s.enumeration import Poses

        return Poses(self)

    def picture(self, state: CorridorState) -> np.ndarray:
        """The map, the agent, and what it sees of it."""
        return draw(self.tables, self.view, int(state.row), np.asarray(state.visited))

    def _column(self, name: str, row: Int[Array, ""]) -> Array:
        column = getattr(self.tables, name)
        dtype = column.dtype if column.dtype == bool else np.int32
        return jnp.asarray(column, dtype)[row]

    def _here(self, row: Int[Array, ""]) -> Bool[Array, " cell"]:
        return jnp.arange(self.tables.n_cells) == self._column("cell", row)
