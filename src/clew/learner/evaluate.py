"""Evaluation: whole episodes of the deterministic policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.envs import priced
from clew.learner.agent import Agent
from clew.learner.program import Program


class Evaluation(NamedTuple):
    """Means over the episodes of one evaluation."""

    success: Float[Array, ""]
    length: Float[Array, ""]
    reward: Float[Array, ""]
    """Undiscounted return, without any bonus."""
    events: Float[Array, " event"]
    """Of each kind in an episode."""


class _Playing(NamedTuple):
    t: Array
    states: Any
    obs: Array
    memory: Any
    alive: Array
    success: Array
    length: Array
    events: Array


def evaluate(
    program: Program, agent: Agent, prices: Float[Array, " event"], key: PRNGKeyArray
) -> Evaluation:
    """Play `eval_episodes` episodes, each from reset to its end, taking the likeliest action."""
    env, observations, n = program.env, program.observations, program.settings.eval_episodes
    reset_key, step_key = jax.random.split(key)
    symbols = agent.actor.symbols(observations)

    def step(now: _Playing) -> _Playing:
        seen = agent.actor.see(observations, symbols, now.obs)
        memory, features = agent.actor.step(now.memory, seen, jnp.full(n, now.t == 0))
        action = jnp.argmax(agent.policy(features), -1)
        keys = jax.random.split(jax.random.fold_in(step_key, now.t), n)
        states, result = jax.vmap(env.step)(now.states, action, keys)
        return _Playing(
            t=now.t + 1,
            states=states,
            obs=result.obs,
            memory=memory,
            alive=now.alive & ~(result.terminated | result.truncated),
            success=now.success | (now.alive & result.success),
            length=now.length + now.alive,
            events=now.events + now.alive[:, None] * result.events,
        )

    states, obs = jax.vmap(env.reset)(jax.random.split(reset_key, n))
    start = _Playing(
        t=jnp.int32(0),
        states=states,
        obs=obs,
        memory=agent.actor.initial_state(n),
        alive=jnp.ones(n, bool),
        success=jnp.zeros(n, bool),
        length=jnp.zeros(n, jnp.int32),
        events=jnp.zeros((n, len(env.event_names))),
    )
    end = jax.lax.while_loop(lambda now: now.alive.any(), step, start)
    events = end.events.mean(0)
    return Evaluation(end.success.mean(), end.length.mean(), priced(prices, events), events)
