"""The corridor: a sign at one end says which way to turn at the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from fractions import Fraction
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clew import envs
from clew.envs.base import Rewards
from clew.envs.canvas import BLUE, FAINT, GREEN, GREY, Canvas
from clew.validate import whole_number

LEFT, RIGHT, UP, DOWN = range(4)
SIGN_UP, SIGN_DOWN, HALL, FORK = range(4)
UNREAD = 2


class State(NamedTuple):
    """The sign, where the agent is, and what it could know."""

    way: jax.Array
    """0 up, 1 down."""
    place: jax.Array
    """From 0, where the sign is, to the fork."""
    read_at: jax.Array
    """The step at which the sign was last in sight; −1 before."""
    t: jax.Array


@envs.register("Corridor")
@envs.register("Corridor-long", length=8)
@dataclasses.dataclass(frozen=True)
class Corridor(envs.Environment[jax.Array, State]):
    """Read the sign at one end, and turn as it says at the other.

    An episode begins one step from the sign. A bonus may make the agent look at it; remembering
    it is another matter.
    """

    length: int = 4
    """Places from the sign to the fork."""

    event_names = ("goal", "wrong", "step")
    """goal: it turns the right way at the fork.
    wrong: it turns the other way.
    step: always.
    """
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"goal": 1.0},
        "penalty": lambda world: {"goal": 1.0, "wrong": -1.0, "step": -1.0 / world.horizon},
    }
    obs_dtype, obs_high = np.dtype(np.float32), 1

    def __post_init__(self) -> None:
        whole_number("length", self.length, 3, 100)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Walk, or turn."""
        return ("left", "right", "up", "down")

    @property
    def horizon(self) -> int:
        """Four times the way there and back."""
        return 8 * self.length

    @property
    def typical_length(self) -> int:
        """The way to the fork."""
        return self.length

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """One-hot."""
        return (4,)

    @property
    def alphabet(self) -> np.ndarray:
        """The sign, up or down; the hall; the fork."""
        return np.eye(4, dtype=np.float32)

    def level(self, key: jax.Array) -> jax.Array:
        """What the sign says."""
        return jax.random.randint(key, (), 0, 2)

    def start(self, level: jax.Array) -> tuple[State, jax.Array]:
        """Beside the sign."""
        state = State(level, jnp.int32(1), jnp.int32(-1), jnp.int32(0))
        return state, self._observe(state)

    def step(self, state: State, action: jax.Array, key: jax.Array) -> tuple[State, envs.Step]:
        """Walk, or turn where there is a fork."""
        turned = (state.place == self.length - 1) & (action >= UP)
        goal = turned & (action - UP == state.way)
        place = walked(state.place, action, self.length)
        t = state.t + 1
        after = State(state.way, place, jnp.where(place == 0, t, state.read_at), t)
        events = self.events(goal=goal, wrong=turned & ~goal, step=jnp.bool_(True))
        truncated = ~turned & (t >= self.horizon)
        return after, envs.Step(self._observe(after), events, turned, truncated, goal)

    def info(self, state: State) -> dict[str, jax.Array]:
        """Where it is, and whether it has read the sign."""
        read = state.read_at >= 0
        return {"place": state.place, "read": read, "is_success": jnp.bool_(False)}

    def picture(self, state: State) -> np.ndarray:
        """The hall, the goal, the agent."""
        width = 20 * self.length
        canvas = Canvas(width, 60, FAINT)
        canvas.rectangle(0, 20, width, 20, GREY)
        canvas.rectangle(width - 20, 0 if int(state.way) == 0 else 40, 20, 20, GREEN)
        canvas.disc(20 * int(state.place) + 10, 30, 8, BLUE)
        return canvas.image()

    def knowledge(self) -> SignAndPlace:
        """For the control with given memory."""
        return SignAndPlace(self)

    def latent(self) -> Sign:
        """What probes ask, if nothing else is asked for."""
        return Sign()

    def enumeration(self, priced: Set[str]) -> Places:
        """As a finite POMDP."""
        return Places(self)

    def _observe(self, state: State) -> jax.Array:
        at_fork = state.place == self.length - 1
        return jnp.where(state.place == 0, state.way, jnp.where(at_fork, FORK, HALL))


def walked(place: jax.Array, action: jax.Array, length: int) -> jax.Array:
    """The place after an action."""
    moved = place + jnp.where(action == RIGHT, 1, jnp.where(action == LEFT, -1, 0))
    return jnp.clip(moved, 0, length - 1)


@dataclasses.dataclass(frozen=True)
class SignAndPlace(envs.Knowledge[tuple[jax.Array, jax.Array]]):
    """What the sign said, if it was read, and the place."""

    env: Corridor

    @property
    def names(self) -> tuple[str, ...]:
        """Three of the sign, one for each place."""
        sign = ("the sign says up", "the sign says down", "the sign is not read")
        return (*sign, *(f"at place {place}" for place in range(self.env.length)))

    def start(self, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The sign is not in sight."""
        return jnp.int32(UNREAD), jnp.int32(1)

    def look(
        self, known: tuple[jax.Array, jax.Array], action: jax.Array, obs: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Read the sign where it is seen, and count steps."""
        sign, place = known
        return jnp.where(obs <= SIGN_DOWN, obs, sign), walked(place, action, self.env.length)

    def array(self, known: tuple[jax.Array, jax.Array], obs: jax.Array) -> jax.Array:
        """One-hot, both."""
        sign, place = known
        return jnp.concatenate((jnp.arange(3) == sign, jnp.arange(self.env.length) == place))


@dataclasses.dataclass(frozen=True)
class Sign(envs.Latent[State, tuple[()]]):
    """What the sign said, once it was read and is out of sight."""

    @property
    def questions(self) -> tuple[str, ...]:
        """To be answered by yes or no."""
        return ("the sign says down",)

    def start(self) -> tuple[()]:
        """All is in the state."""
        return ()

    def look(self, known: tuple[()], state: State) -> tuple[tuple[()], envs.Asked]:
        """At every step away from the sign."""
        asked = (state.read_at >= 0) & (state.place > 0)
        since = jnp.where(asked, state.t - state.read_at, -1)
        return known, envs.Asked(asked[None], (state.way == 1)[None], since[None])


@dataclasses.dataclass(frozen=True)
class Places(envs.Enumeration[State]):
    """Every sign, and what tells states apart."""

    env: Corridor

    def levels(self) -> list[tuple[np.ndarray, Fraction]]:
        """Both are as likely."""
        return [(np.asarray(way, np.int32), Fraction(1, 2)) for way in (0, 1)]

    def variables(self, state: State) -> dict[str, int]:
        """Whether the sign was read is the agent's affair, not the world's."""
        return {"way": int(state.way), "place": int(state.place)}

    def smaller(self) -> dict[str, object]:
        """The shortest corridor."""
        return {"length": 3}


envs.show_as("Corridor", envs.Display("The corridor", threshold=0.9))
