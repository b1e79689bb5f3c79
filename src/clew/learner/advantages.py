"""Values and advantages: what the critic thinks of a rollout, and how much better it went."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from clew.learner.agent import Agent
from clew.learner.program import Program
from clew.learner.rollout import Rollout, RunnerState, in_chunks


class CriticValues(NamedTuple):
    """What the critic makes of a rollout."""

    value: Float[Array, "time env"]
    """Of what was seen."""
    next_value: Float[Array, "time env"]
    """Of what was arrived at, in the same episode: where it was cut short, of its last view."""
    memories: Any
    """The critic's memory at the beginning of each chunk."""


def critic_values(
    program: Program, agent: Agent, runner: RunnerState, rollout: Rollout
) -> tuple[RunnerState, CriticValues]:
    """Let the critic see the rollout; `runner` are those after it, the critic's memory before it.

    The critic is not needed to act, so it reads whole chunks at once, as it does in training.
    """
    observations, s = program.observations, program.settings
    critic = agent.critic_backbone
    symbols = critic.symbols(observations)
    obs, first = in_chunks((rollout.obs, rollout.first), s.chunk)

    def chunk(memory: Any, now: Any) -> tuple[Any, Any]:
        obs, first = now
        after, features = critic.unroll(memory, critic.see(observations, symbols, obs), first)
        return after, (agent.value(features), memory)

    memory, (value, memories) = jax.lax.scan(chunk, runner.critic_memory, (obs, first))
    value = jnp.swapaxes(value, 1, 2).reshape(s.steps, s.envs)

    def replay(start: Any, obs: Array, first: Array) -> Float[Array, "env time"]:
        return agent.value(critic.unroll(start, critic.see(observations, symbols, obs), first)[1])

    # what a step leads to is seen at the next one, except where the rollout ends or an episode is
    # cut short
    final = (jnp.arange(s.steps) == s.steps - 1)[:, None]
    unseen = (final | rollout.truncated) & ~rollout.terminated
    if s.truncation == "end":
        unseen &= ~rollout.truncated
    next_value = _looking_ahead(replay, unseen, jnp.roll(value, -1, 0), rollout, memories, s.chunk)
    return runner._replace(critic_memory=memory), CriticValues(value, next_value, memories)


def advantages(
    reward: Float[Array, "time env"],
    valued: CriticValues,
    terminated: Bool[Array, "time env"],
    ended: Bool[Array, "time env"],
    gamma: Float[Array, ""],
    gae_lambda: float,
) -> Float[Array, "time env"]:
    """Generalised advantage estimation (Schulman et al. 2016).

    Nothing follows a terminated episode; a truncated one would have gone on, and is worth what
    the critic says of its last view. Neither passes on what the next episode brings.
    """
    td_error = reward + gamma * jnp.where(terminated, 0, valued.next_value) - valued.value

    def back(later: Array, now: Any) -> tuple[Array, Array]:
        td_error, ended = now
        advantage = td_error + gamma * gae_lambda * jnp.where(ended, 0, later)
        return advantage, advantage

    start = jnp.zeros_like(td_error[0])
    return jax.lax.scan(back, start, (td_error, ended), reverse=True)[1]


def _looking_ahead(
    replay: Any, unseen: Array, next_value: Array, rollout: Rollout, memories: Any, chunk: int
) -> Float[Array, "time env"]:
    """Put in the values of arrivals that the rollout does not go on from.

    The memory with which such a view would be met exists nowhere; it is made again by replaying
    the chunk up to there. This loops while any environment has one left. Truncation is rare:
    mostly that is once, for the end of the rollout.
    """
    envs = jnp.arange(unseen.shape[1])

    def more(carry: Any) -> Array:
        return carry[0].any()

    def settle(carry: Any) -> Any:
        left, next_value = carry
        t = jnp.argmax(left, axis=0)  # the next one in each environment, if there is one
        which, place = t // chunk, t % chunk
        window = (which * chunk)[:, None] + jnp.arange(chunk)
        obs, first = (x[window, envs[:, None]] for x in (rollout.obs, rollout.first))
        # one place more than a chunk, for the view after the chunk's last action
        obs, first = (jnp.concatenate((x, x[:, :1]), 1) for x in (obs, first))
        here = jnp.arange(chunk + 1) == (place + 1)[:, None]
        final = rollout.next_obs[t, envs]
        wide = here.reshape(here.shape + (1,) * (obs.ndim - 2))
        obs = jnp.where(wide, final[:, None], obs)
        start = jax.tree.map(lambda x: x[which, envs], memories)
        value = replay(start, obs, first & ~here)[envs, place + 1]
        present = left[t, envs]
        value = jnp.where(present, value, next_value[t, envs])
        return left.at[t, envs].set(False), next_value.at[t, envs].set(value)

    return jax.lax.while_loop(more, settle, (unseen, next_value))[1]
