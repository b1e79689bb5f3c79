"""TinyReproduce, after POPGym's Autoencode: k tokens are shown, then reproduced."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from functools import cache
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from clew.envs.base import Environment, PlainInfo, Rewards, Step
from clew.envs.enumeration import Enumeration
from clew.envs.knowledge import Knowledge
from clew.envs.latent import Latent
from clew.envs.worlds.tiny_reproduce.picture import draw
from clew.validate import one_of, whole_number

Level = Int[Array, " k"]
"""The dictated sequence."""


class SequenceState(NamedTuple):
    """A sequence and how far the episode has come in it."""

    sequence: Int[Array, " k"]
    t: Int[Array, ""]
    """Steps taken. Tokens 1..min(t+1, k) have been shown."""
    n_correct: Int[Array, ""]
    played: Int[Array, ""]
    """The token played last, −1 before the first."""
    is_correct: Bool[Array, ""]
    """Whether that token was right."""


@dataclasses.dataclass(frozen=True)
class TinyReproduce(Environment[Level, SequenceState]):
    """Watch k tokens, then play them back from memory.

    The first wrong one ends the episode. The schedule has 2k−1 steps. Reset shows token 1 and the
    next k−1 steps show the others, whatever is done. The action at step k, chosen while token k is
    still in view, is already graded; from then on the observation is constant.
    """

    k: int = 10
    """Length of the sequence."""
    v: int = 4
    """Number of different tokens, which is also the number of actions."""
    order: Literal["reverse", "forward"] = "reverse"
    """Play the last token first, as in the study, or the first one first."""

    obs_dtype, obs_high = np.dtype(np.float32), 1
    event_names = ("correct", "wrong", "total", "step")
    """correct: a graded token is right.
    wrong: a graded token is not.
    total: in the step that ends the episode, the number of tokens that were right.
    step: always.
    """
    rewards: ClassVar[Rewards] = {
        "dense": lambda world: {"correct": 1 / world.k},
        "sparse": lambda world: {"total": 1 / world.k},
    }
    """Return-matched without discounting: they differ only in when they pay."""

    def __post_init__(self) -> None:
        whole_number("k", self.k, 1, 1000)
        whole_number("v", self.v, 2, 1000)
        one_of("order", self.order, ("reverse", "forward"))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Play token 0, play token 1, …"""
        return tuple(f"play {token}" for token in range(self.v))

    @property
    def horizon(self) -> int:
        """2k − 1."""
        return 2 * self.k - 1

    @property
    def typical_length(self) -> int:
        """The shortest episode, as levels cost little."""
        return self.shortest_length

    @property
    def shortest_length(self) -> int:
        """The first graded token is wrong."""
        return self.k

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """[watch, play, onehot(v)]."""
        return (2 + self.v,)

    @property
    def alphabet(self) -> np.ndarray:
        """Symbols 0..v−1 are the tokens in the watch phase; v is the play phase."""
        return _alphabet(self.v)

    def level(self, key: PRNGKeyArray) -> Level:
        """Tokens are independent and uniform."""
        return jax.random.randint(key, (self.k,), 0, self.v, jnp.int32)

    def start(self, level: Level) -> tuple[SequenceState, Int[Array, ""]]:
        """Show the first token."""
        state = SequenceState(level, jnp.int32(0), jnp.int32(0), jnp.int32(-1), jnp.bool_(False))
        return state, level[0]

    def step(
        self, state: SequenceState, action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[SequenceState, Step]:
        """Show the next token, or grade the action."""
        graded = state.t >= self.k - 1
        correct = graded & (action == self._target(state))
        wrong = graded & ~correct
        t = state.t + 1
        n_correct = state.n_correct + correct.astype(jnp.int32)
        success = n_correct == self.k
        ended = wrong | success
        after = SequenceState(
            sequence=state.sequence,
            t=t,
            n_correct=n_correct,
            played=jnp.where(graded, action, -1).astype(jnp.int32),
            is_correct=correct,
        )
        events = self.events(
            correct=correct, wrong=wrong, total=ended * n_correct, step=jnp.bool_(True)
        )
        return after, Step(self._observe(after), events, ended, t >= self.horizon, success)

    def info(self, state: SequenceState) -> dict[str, Array]:
        """The paper's instrumentation; `explain` has `phase` and `rm_state` in its words.

        `rm_state` holds the prefix shown so far while watching, and what is still to be played,
        in the order it must be played, while playing; `rm_length` says how many entries count,
        the rest are −1.
        """
        watching = state.t < self.k
        shown = jnp.minimum(state.t + 1, self.k)
        position = jnp.arange(self.k)
        length = jnp.where(watching, shown, self.k - state.n_correct)
        to_play = state.sequence[::-1] if self.order == "reverse" else state.sequence
        remaining = jnp.roll(to_play, -state.n_correct)
        content = jnp.where(watching, state.sequence, remaining)
        success = state.n_correct == self.k
        return {
            "phase": (~watching).astype(jnp.int32),
            "rm_state": jnp.where(position < length, content, -1),
            "rm_length": length,
            "n_correct": state.n_correct,
            "is_correct": state.is_correct,
            "success": success,
            "is_success": success,
        }

    def plain(self, info: PlainInfo) -> PlainInfo:
        """The names and types of the paper's section on instrumentation."""
        length = info.pop("rm_length")
        info["phase"] = ("watch", "play")[info["phase"]]
        info["rm_state"] = tuple(info["rm_state"][:length])
        return info

    def latent(self) -> Latent[SequenceState, PyTree[Array]]:
        """Which tokens are still to be played."""
        from clew.envs.worlds.tiny_reproduce.latents import Remaining

        return Remaining(self)

    def knowledge(self) -> Knowledge[PyTree[Array]]:
        """The tokens that are still to be played."""
        from clew.envs.worlds.tiny_reproduce.knowledge import ToPlay

        return ToPlay(self)

    def enumeration(self, priced: Set[str]) -> Enumeration[SequenceState]:
        """Sequence and place in it."""
        from clew.envs.worlds.tiny_reproduce.enumeration import Sequences

        return Sequences(self)

    def picture(self, state: SequenceState) -> np.ndarray:
        """The sequence, what is in view, and what was played."""
        return draw(self, state)

    def _target(self, state: SequenceState) -> Int[Array, ""]:
        index = state.n_correct
        return state.sequence[self.k - 1 - index if self.order == "reverse" else index]

    def _observe(self, state: SequenceState) -> Int[Array, ""]:
        token = state.sequence[jnp.minimum(state.t, self.k - 1)]
        return jnp.where(state.t < self.k, token, self.v)


@cache
def _alphabet(v: int) -> np.ndarray:
    table = np.zeros((v + 1, v + 2), np.float32)
    table[:v, 0] = 1
    table[:v, 2:] = np.eye(v)
    table[v, 1] = 1
    return table
