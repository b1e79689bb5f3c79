"""Values and advantages: what the critic thinks of a rollout, and how much better it went."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from clew.learner.agent import Agent
from clew.learner.program import Program
from clew.learner.rollout import Players, Rollout, in_chunks


class Valued(NamedTuple):
    """What the critic makes of a rollout."""

    value: Float[Array, "time env"]
    """Of what was seen."""
    following: Float[Array, "time env"]
    """Of what was arrived at, in the same episode: where it was cut short, of its last view."""
    memories: Any
    """The critic's memory at the beginning of each chunk."""


def appraise(
    program: Program, agent: Agent, players: Players, rollout: Rollout
) -> tuple[Players, Valued]:
    """Let the critic see the rollout; `players` are those after it, the critic's memory before it.

    The critic is not needed to act, so it reads whole chunks at once, as it does in training.
    """
    observations, s = program.observations, program.settings
    seer = agent.seer
    symbols = seer.symbols(observations)
    obs, first = in_chunks((rollout.obs, rollout.first), s.chunk)

    def chunk(memory: Any, now: Any) -> tuple[Any, Any]:
        obs, first = now
        after, features = seer.unroll(memory, seer.see(observations, symbols, obs), first)
        return after, (agent.value(features), memory)

    memory, (value, memories) = jax.lax.scan(chunk, players.valuing, (obs, first))
    value = jnp.swapaxes(value, 1, 2).reshape(s.steps, s.envs)

    def replay(start: Any, obs: Array, first: Array) -> Float[Array, "env time"]:
        return agent.value(seer.unroll(start, seer.see(observations, symbols, obs), first)[1])

    # what a step leads to is seen at the next one, except where the rollout ends or an episode is
    # cut short
    final = (jnp.arange(s.steps) == s.steps - 1)[:, None]
    unseen = (final | rollout.truncated) & ~rollout.terminated
    if s.truncation == "end":
        unseen &= ~rollout.truncated
    following = _looking_ahead(replay, unseen, jnp.roll(value, -1, 0), rollout, memories, s.chunk)
    return players._replace(valuing=memory), Valued(value, following, memories)


def advantages(
    reward: Float[Array, "time env"],
    valued: Valued,
    terminated: Bool[Array, "time env"],
    ended: Bool[Array, "time env"],
    gamma: Float[Array, ""],
    gae_lambda: float,
) -> Float[Array, "time env"]:
    """Generalised advantage estimation (Schulman et al. 2016).

    Nothing follows a terminated episode; a truncated one would have gone on, and is worth what
    the critic says of its last view. Neither passes on what the next episode brings.
    """
    surprise = reward + gamma * jnp.where(terminated, 0, valued.following) - valued.value

    def back(later: Array, now: Any) -> tuple[Array, Array]:
        surprise, ended = now
        advantage = surprise + gamma * gae_lambda * jnp.where(ended, 0, later)
        return advantage, advantage

    start = jnp.zeros_like(surprise[0])
    return jax.lax.scan(back, start, (surprise, ended), reverse=True)[1]


def _looking_ahead(
    replay: Any, unseen: Array, following: Array, rollout: Rollout, memories: Any, chunk: int
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
        left, following = carry
        t = jnp.argmax(left, axis=0)  # the next one in each environment, if there is one
        which, place = t // chunk, t % chunk
        window = (which * chunk)[:, None] + jnp.arange(chunk)
        obs, first = (x[window, envs[:, None]] for x in (rollout.obs, rollout.first))
        # one place more than a chunk, for the view after the chunk's last action
        obs, first = (jnp.concatenate((x, x[:, :1]), 1) for x in (obs, first))
        here = jnp.arange(chunk + 1) == (place + 1)[:, None]
        final = rollout.arrival[t, envs]
        wide = here.reshape(here.shape + (1,) * (obs.ndim - 2))
        obs = jnp.where(wide, final[:, None], obs)
        start = jax.tree.map(lambda x: x[which, envs], memories)
        value = replay(start, obs, first & ~here)[envs, place + 1]
        present = left[t, envs]
        value = jnp.where(present, value, following[t, envs])
        return left.at[t, envs].set(False), following.at[t, envs].set(value)

    return jax.lax.while_loop(more, settle, (unseen, following))[1]
