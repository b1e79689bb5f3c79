"""TEMPLATE_NAME: a world. It works as it is; change one thing at a time.

A signal is shown at the start, and asked for after some steps: nothing but a memory helps.

    python -m pytest test_template_module.py     the laws that every world obeys
    clew list TEMPLATE_NAME --module template_module
    clew run template_module.toml --store results && clew report results --module template_module
    clew probe template_module.toml --store results
    clew classify TEMPLATE_NAME --module template_module
"""

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
from clew.envs.canvas import BLUE, FAINT, GREEN, ORANGE, Canvas


class State(NamedTuple):
    """All that decides what happens next: arrays that keep their shapes from step to step."""

    signal: jax.Array
    t: jax.Array


# The name is what suites and commands know the world by. The first line of the docstring is what
# `clew list` shows, and the texts below fields are what it says of options and events.
@envs.register("TEMPLATE_NAME")
@dataclasses.dataclass(frozen=True)
class TemplateClass(envs.Environment[jax.Array, State]):
    """Say at the end which signal was shown at the start."""

    # Options: numbers, texts or booleans, with defaults.
    signals: int = 2
    """How many signals there are, which is also the number of actions."""
    delay: int = 4
    """Steps of an episode; the last one is the answer."""

    # Everything that somebody may want to pay for. A step says how often each has happened.
    event_names = ("right", "wrong")
    """right: the answer is the signal.
    wrong: it is not.
    """
    # Reward variants: what each event is paid. Have a "sparse" one: it is the default elsewhere.
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"right": 1.0},
        "penalty": lambda world: {"right": 1.0, "wrong": -1.0},
    }
    # Observations as a network is fed them: their type, and their largest entry (the least is 0).
    obs_dtype, obs_high = np.dtype(np.float32), 1

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions, by index."""
        return tuple(f"say {signal}" for signal in range(self.signals))

    @property
    def horizon(self) -> int:
        """Steps after which every episode has ended."""
        return self.delay

    @property
    def typical_length(self) -> int:
        """How many steps a stock of levels has for each: those of a quick but ordinary episode."""
        return self.delay

    @property
    def shortest_length(self) -> int:
        """No episode has fewer steps; 1 if you cannot say."""
        return self.delay

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """Shape of an observation."""
        return (self.signals + 1,)

    @property
    def alphabet(self) -> np.ndarray:
        """Every observation there is: `start` and `step` return its number in this table.

        Where observations are too many to be numbered, leave this out, and return arrays.
        """
        return np.eye(self.signals + 1, dtype=np.float32)  # the signals, and a blank

    # What happens. These are compiled: use jax.numpy, and `jnp.where` in the place of `if`.

    def level(self, key: jax.Array) -> jax.Array:
        """Draw what an episode is decided by: all chance that there is at its start."""
        return jax.random.randint(key, (), 0, self.signals)

    def start(self, level: jax.Array) -> tuple[State, jax.Array]:
        """The first state and observation of an episode."""
        return State(level, jnp.int32(0)), level

    def step(self, state: State, action: jax.Array, key: jax.Array) -> tuple[State, envs.Step]:
        """What an action does; `key` is for chance, of which there is none here."""
        after = State(state.signal, state.t + 1)
        end = after.t == self.delay
        right = end & (action == state.signal)
        return after, envs.Step(
            obs=jnp.int32(self.signals),
            events=self.events(right=right, wrong=end & ~right),
            terminated=end,  # the task is over
            truncated=jnp.bool_(False),  # the time is up; a learner looks beyond this end
            success=right,  # a fact of the world, whatever the prices
        )

    # What people and instruments see. The agent never does.

    def info(self, state: State) -> dict[str, jax.Array]:
        """As arrays; `is_success` should be among them."""
        return {"t": state.t, "is_success": jnp.bool_(False)}

    def picture(self, state: State) -> np.ndarray:
        """For `clew show`: RGB, with all of the state in it."""
        canvas = Canvas(20 * self.delay + 20, 40, FAINT)
        canvas.disc(20 * int(state.t) + 10, 20, 8, BLUE if int(state.t) else ORANGE)
        canvas.rectangle(0, 34, 20 * (int(state.signal) + 1), 6, GREEN)
        return canvas.image()

    # The rest may be left out, and is worth having.

    def knowledge(self) -> Known:
        """For the control with given memory, which says whether memory is the bottleneck."""
        return Known(self)

    def latent(self) -> Hidden:
        """For `clew probe`: what is asked of a trained memory."""
        return Hidden(self)

    def enumeration(self, priced: Set[str]) -> Enumerated:
        """For `clew classify`, if some events are priced: this world as a finite POMDP."""
        return Enumerated(self)


@dataclasses.dataclass(frozen=True)
class Known(envs.Knowledge[State]):
    """What a perfect memory knows. It is shown observations and actions, never the state."""

    env: TemplateClass

    @property
    def names(self) -> tuple[str, ...]:
        """A label for each fact."""
        signals = (f"the signal was {signal}" for signal in range(self.env.signals))
        return (*signals, *(f"after {t} steps" for t in range(self.env.delay)))

    def start(self, obs: jax.Array) -> State:
        """After the first observation, which is the signal."""
        return State(obs, jnp.int32(0))

    def look(self, known: State, action: jax.Array, obs: jax.Array) -> State:
        """After an action, and what it led to."""
        return State(known.signal, known.t + 1)

    def array(self, known: State, obs: jax.Array) -> jax.Array:
        """The facts, in the order of their names."""
        signals, steps = jnp.arange(self.env.signals), jnp.arange(self.env.delay)
        return jnp.concatenate((signals == known.signal, steps == known.t))


@dataclasses.dataclass(frozen=True)
class Hidden(envs.Latent[State, tuple[()]]):
    """Which signal was shown, asked at every step at which it is out of sight."""

    env: TemplateClass

    @property
    def questions(self) -> tuple[str, ...]:
        """To be answered by yes or no."""
        return tuple(f"the signal was {signal}" for signal in range(self.env.signals))

    def start(self) -> tuple[()]:
        """What must be remembered from step to step to ask; nothing here."""
        return ()

    def look(self, known: tuple[()], state: State) -> tuple[tuple[()], envs.Asked]:
        """Whether each question has an answer now, the answer, and how long ago it was seen."""
        each = jnp.arange(self.env.signals)
        asked = jnp.broadcast_to(state.t > 0, each.shape)
        since = jnp.broadcast_to(state.t, each.shape)
        return known, envs.Asked(asked, each == state.signal, since)


@dataclasses.dataclass(frozen=True)
class Enumerated(envs.Enumeration[State]):
    """Every level, and the variables that tell states apart."""

    env: TemplateClass

    def levels(self) -> list[tuple[np.ndarray, Fraction]]:
        """With their probabilities, exactly."""
        n = self.env.signals
        return [(np.asarray(signal, np.int32), Fraction(1, n)) for signal in range(n)]

    def variables(self, state: State) -> dict[str, int]:
        """States with equal values must behave alike."""
        return {"signal": int(state.signal), "t": int(state.t)}


# How the report shows it, and which success counts as having learnt the task.
envs.show_as("TEMPLATE_NAME", envs.Display("TEMPLATE_NAME", threshold=0.9))
