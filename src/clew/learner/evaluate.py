"""Evaluation: whole episodes of the deterministic policy."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from clew.envs import priced
from clew.learner.agent import ActorStep, Agent, Encoding, MemoryState, Seen, act
from clew.learner.program import Program


class Evaluation(NamedTuple):
    """Means over the episodes of one evaluation."""

    success: Float[Array, ""]
    length: Float[Array, ""]
    reward: Float[Array, ""]
    """Undiscounted return, without any bonus."""
    events: Float[Array, " event"]
    """Of each kind in an episode."""


class EpisodesState(NamedTuple):
    """Some episodes, played together from reset to their ends."""

    t: Int[Array, ""]
    env_state: PyTree[Array]
    obs: Seen
    memory: MemoryState
    alive: Bool[Array, " episode"]
    success: Bool[Array, " episode"]
    length: Int[Array, " episode"]
    events: Float[Array, "episode event"]


@jax.named_scope("evaluation")
def evaluate(
    program: Program, agent: Agent, prices: Float[Array, " event"], key: PRNGKeyArray
) -> Evaluation:
    """Play `eval_episodes` episodes, each from reset to its end, taking the likeliest action."""
    reset_key, step_key = jax.random.split(key)
    table = agent.actor.encode_table(program.observations)
    start = reset_episodes(program, agent, program.settings.eval_episodes, reset_key)
    end = jax.lax.while_loop(
        lambda now: now.alive.any(),
        lambda now: step_episodes(program, agent, table, step_key, now)[0],
        start,
    )
    events = end.events.mean(0)
    return Evaluation(end.success.mean(), end.length.mean(), priced(prices, events), events)


def reset_episodes(program: Program, agent: Agent, n: int, key: PRNGKeyArray) -> EpisodesState:
    """Before the first step of `n` episodes."""
    env_state, obs = jax.vmap(program.env.reset)(jax.random.split(key, n))
    return EpisodesState(
        t=jnp.int32(0),
        env_state=env_state,
        obs=obs,
        memory=agent.actor.initial_state(n),
        alive=jnp.ones(n, bool),
        success=jnp.zeros(n, bool),
        length=jnp.zeros(n, jnp.int32),
        events=jnp.zeros((n, len(program.env.event_names))),
    )


def step_episodes(
    program: Program, agent: Agent, table: Encoding | None, key: PRNGKeyArray, now: EpisodesState
) -> tuple[EpisodesState, ActorStep]:
    """One step of every episode, with the likeliest action; those that have ended do not count."""
    n = len(now.alive)
    acted = act(agent, program.observations, table, now.memory, now.obs, jnp.full(n, now.t == 0))
    keys = jax.random.split(jax.random.fold_in(key, now.t), n)
    env_state, result = jax.vmap(program.env.step)(now.env_state, acted.action, keys)
    after = EpisodesState(
        t=now.t + 1,
        env_state=env_state,
        obs=result.obs,
        memory=acted.memory,
        alive=now.alive & ~(result.terminated | result.truncated),
        success=now.success | (now.alive & result.success),
        length=now.length + now.alive,
        events=now.events + now.alive[:, None] * result.events,
    )
    return after, acted
