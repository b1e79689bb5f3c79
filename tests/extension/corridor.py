"""A world: a signal is shown at the start of a corridor, and asked for at its end."""

# attributes stand where the interface has properties, as a user may write it
# pyright: reportIncompatibleMethodOverride=false, reportAssignmentType=false

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clew import envs
from clew.envs.base import Rewards
from clew.envs.canvas import BLUE, Canvas


class State(NamedTuple):
    signal: jax.Array
    t: jax.Array


@dataclasses.dataclass(frozen=True)
class Signal(envs.Latent):
    """Which signal was shown, at every step after the first."""

    questions = ("the signal was 1",)

    def start(self) -> tuple[()]:
        return ()

    def look(self, known: tuple[()], state: State) -> tuple[tuple[()], envs.Asked]:
        return known, envs.Asked((state.t > 0)[None], (state.signal == 1)[None], state.t[None])


@dataclasses.dataclass(frozen=True)
class SignalAndTime(envs.Knowledge):
    """Which signal was shown, and how long ago."""

    env: Corridor

    @property
    def names(self) -> tuple[str, ...]:
        return ("signal 0", "signal 1", *(f"after {t} steps" for t in range(self.env.length)))

    def start(self, obs: jax.Array) -> State:
        return State(obs, jnp.int32(0))

    def look(self, known: State, action: jax.Array, obs: jax.Array) -> State:
        return State(known.signal, known.t + 1)

    def array(self, known: State, obs: jax.Array) -> jax.Array:
        t = jnp.arange(self.env.length) == known.t
        return jnp.concatenate((jnp.arange(2) == known.signal, t))


@envs.register("Corridor")
@dataclasses.dataclass(frozen=True)
class Corridor(envs.Environment):
    """Say at the end of a corridor what was shown at its start."""

    length: int = 3
    """Steps from end to end."""

    event_names = ("right", "wrong")
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"right": 1.0},
        "strict": lambda world: {"right": 1.0, "wrong": -1.0 / world.length},
    }
    action_names = ("say 0", "say 1")
    obs_shape = (3,)
    obs_dtype = np.dtype(np.float32)
    obs_high = 1
    alphabet = np.eye(3, dtype=np.float32)

    @property
    def horizon(self) -> int:
        return self.length

    @property
    def typical_length(self) -> int:
        return self.length

    def level(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (), 0, 2)

    def start(self, level: jax.Array) -> tuple[State, jax.Array]:
        return State(level, jnp.int32(0)), level

    def step(self, state: State, action: jax.Array, key: jax.Array) -> tuple[State, envs.Step]:
        after = State(state.signal, state.t + 1)
        end = after.t == self.length
        right = end & (action == state.signal)
        events = self.events(right=right, wrong=end & ~right)
        return after, envs.Step(jnp.int32(2), events, end, jnp.bool_(False), right)

    def info(self, state: State) -> dict[str, jax.Array]:
        return {"is_success": jnp.bool_(False)}

    def latent(self) -> Signal:
        return Signal()

    def knowledge(self) -> SignalAndTime:
        return SignalAndTime(self)

    def picture(self, state: Any) -> np.ndarray:
        canvas = Canvas(20 * self.length + 20, 20)
        canvas.disc(20 * int(state.t) + 10, 10, 8, BLUE)
        return canvas.image()


envs.show_as("Corridor", envs.Display("The corridor"))
