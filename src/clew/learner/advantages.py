"""The critic's values of a rollout, and generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from clew.learner.agent import Agent, MemoryState, Seen
from clew.learner.program import Program
from clew.learner.rollout import Rollout, RunnerState, in_chunks
from clew.memory.diagonal import states_after

Unroll = Callable[[MemoryState, Seen, Array], tuple[MemoryState, Float[Array, "env time"]]]


class CriticValues(NamedTuple):
    """What the critic says of a rollout."""

    value: Float[Array, "time env"]
    """Of each observation."""
    next_value: Float[Array, "time env"]
    """Of each next observation, in the same episode; not defined where that has terminated."""
    memories: MemoryState
    """The critic's memory at the beginning of each chunk."""


@jax.named_scope("values")
def critic_values(
    program: Program, agent: Agent, runner: RunnerState, rollout: Rollout
) -> tuple[RunnerState, CriticValues]:
    """Values of a rollout, and `runner` with the critic's memory after it.

    The critic is not needed to act, so it reads whole chunks at once, as it does in training.
    """
    observations, s = program.observations, program.settings
    critic = agent.critic_backbone
    table = critic.encode_table(observations)

    def unroll(
        memory: MemoryState, obs: Seen, first: Array
    ) -> tuple[MemoryState, Float[Array, "env time"]]:
        memory, features = critic.unroll(memory, critic.encode(observations, table, obs), first)
        return memory, agent.value(features)

    def chunk(
        memory: MemoryState, obs_and_first: tuple[Seen, Array]
    ) -> tuple[MemoryState, tuple[Array, MemoryState]]:
        after, value = unroll(memory, *obs_and_first)
        return after, (value, memory)

    chunks = in_chunks((rollout.obs, rollout.first), s.chunk)
    memory, (value, memories) = jax.lax.scan(chunk, runner.critic_memory, chunks)
    value = jnp.swapaxes(value, 1, 2).reshape(s.steps, s.envs)
    # the next observation is the following step's, except at the end of the rollout and where an
    # episode was truncated
    last = (jnp.arange(s.steps) == s.steps - 1)[:, None]
    missing = (last | rollout.truncated) & ~rollout.terminated
    if s.truncation == "end":
        missing &= ~rollout.truncated
    next_value = _bootstrap(unroll, missing, jnp.roll(value, -1, 0), rollout, memories, s.chunk)
    return runner._replace(critic_memory=memory), CriticValues(value, next_value, memories)


def advantages(
    reward: Float[Array, "time env"],
    values: CriticValues,
    terminated: Bool[Array, "time env"],
    done: Bool[Array, "time env"],
    gamma: Float[Array, ""],
    gae_lambda: float,
) -> Float[Array, "time env"]:
    """Generalised advantage estimation (Schulman et al. 2016).

    A terminated episode has no next value. A truncated one is bootstrapped from the value of its
    last observation. Both are `done`: no advantage passes from one episode into another.
    """
    td_error = reward + gamma * jnp.where(terminated, 0, values.next_value) - values.value

    # a linear recurrence, backwards in time
    carry = jnp.broadcast_to(gamma * gae_lambda, td_error.shape)
    start = jnp.zeros_like(td_error[0])
    backwards = (carry[::-1], td_error[::-1], start, done[::-1])
    return jax.vmap(states_after, (1, 1, 0, 1), 1)(*backwards)[::-1]


def _bootstrap(
    unroll: Unroll,
    missing: Bool[Array, "time env"],
    next_value: Float[Array, "time env"],
    rollout: Rollout,
    memories: MemoryState,
    chunk: int,
) -> Float[Array, "time env"]:
    """Fill in the `missing` next values: those of observations that no step of the rollout acts on.

    The critic's memory before such an observation is not stored, so its chunk is unrolled again up
    to there. One round of the loop fills in one value of every environment. Truncation is rare, so
    mostly there is one round, for the end of the rollout.
    """
    envs = jnp.arange(missing.shape[1])

    def fill_one(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        missing, next_value = carry
        t = jnp.argmax(missing, axis=0)  # the first in each environment; 0 if there is none
        which, place = t // chunk, t % chunk
        next_obs = jax.tree.map(lambda x: x[t, envs], rollout.next_obs)
        obs, first = _chunk_with(rollout, which, place, next_obs, chunk)
        start = jax.tree.map(lambda x: x[which, envs], memories)
        value = unroll(start, obs, first)[1][envs, place + 1]
        value = jnp.where(missing[t, envs], value, next_value[t, envs])
        return missing.at[t, envs].set(False), next_value.at[t, envs].set(value)

    return jax.lax.while_loop(lambda carry: carry[0].any(), fill_one, (missing, next_value))[1]


def _chunk_with(
    rollout: Rollout, which: Array, place: Array, next_obs: Seen, chunk: int
) -> tuple[Seen, Bool[Array, "env time"]]:
    """One chunk of each environment, with `next_obs` after its step `place`, in the same episode.

    It is one step longer than a chunk, since `place` may be the chunk's last step.
    """
    envs = jnp.arange(len(which))
    steps = (which * chunk)[:, None] + jnp.arange(chunk)
    here = jnp.arange(chunk + 1) == (place + 1)[:, None]

    def cut(x: Shaped[Array, "time env *rest"]) -> Shaped[Array, "env time *rest"]:
        x = x[steps, envs[:, None]]
        return jnp.concatenate((x, x[:, :1]), 1)

    def insert(x: Shaped[Array, "time env *rest"], new: Array) -> Shaped[Array, "env time *rest"]:
        x = cut(x)
        return jnp.where(here.reshape(here.shape + (1,) * (x.ndim - 2)), new[:, None], x)

    return jax.tree.map(insert, rollout.obs, next_obs), cut(rollout.first) & ~here
