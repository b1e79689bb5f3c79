"""Play: the actor's memory travels with it, and what PPO needs later is written down."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from clew.envs import Running, advance, begin, lay_out
from clew.learner.agent import Agent
from clew.learner.program import Program


class RunnerState(NamedTuple):
    """The environments of one run and the memories that follow them, between rollouts."""

    running: Running
    first: Bool[Array, " env"]
    """Whether what is seen now begins an episode."""
    actor_memory: Any
    """The actor's memories."""
    critic_memory: Any
    """The critic's memories; the actor's own if the backbone is shared."""


class Rollout(NamedTuple):
    """What happened, in the order of time."""

    obs: Shaped[Array, "time env *obs"]
    first: Bool[Array, "time env"]
    action: Int[Array, "time env"]
    log_prob: Float[Array, "time env"]
    next_obs: Shaped[Array, "time env *obs"]
    """What the action led to: the last observation of the episode if it ended there."""
    events: Float[Array, "time env event"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    success: Bool[Array, "time env"]


def init_runner(program: Program, agent: Agent, key: PRNGKeyArray) -> RunnerState:
    """Begin an episode in every environment."""
    env, n = program.env, program.settings.envs
    levels = jax.vmap(lambda key: lay_out(env, key, 1))(jax.random.split(key, n))
    running = jax.vmap(lambda levels: begin(env, levels))(levels)
    memories = [backbone.initial_state(n) for backbone in (agent.actor, agent.critic_backbone)]
    return RunnerState(running, jnp.ones(n, bool), *memories)


def collect_rollout(
    program: Program, agent: Agent, runner: RunnerState, key: PRNGKeyArray
) -> tuple[RunnerState, Rollout, Any]:
    """Play one rollout: the runner after it, what happened, the actor's memory at each chunk."""
    env, observations, s = program.env, program.observations, program.settings
    level_key, step_key, noise_key = jax.random.split(key, 3)
    levels = jax.vmap(lambda k: lay_out(env, k, s.steps))(jax.random.split(level_key, s.envs))
    keys = jax.random.split(step_key, (s.steps, s.envs))
    noise = jax.random.gumbel(noise_key, (s.steps, s.envs, len(env.action_names)))
    symbols = agent.actor.symbols(observations)

    def step(carry: Any, now: Any) -> tuple[Any, Rollout]:
        running, first, memory = carry
        keys, noise = now
        seen = agent.actor.see(observations, symbols, running.obs)
        memory, features = agent.actor.step(memory, seen, first)
        logits = agent.policy(features)
        action = jnp.argmax(logits + noise, -1)  # a sample, by Gumbel's trick
        after, result = jax.vmap(lambda *each: advance(env, *each))(levels, running, action, keys)
        record = Rollout(
            obs=running.obs,
            first=first,
            action=action,
            log_prob=log_prob_of(logits, action),
            next_obs=result.obs,
            events=result.events,
            terminated=result.terminated,
            truncated=result.truncated,
            success=result.success,
        )
        return (after, result.terminated | result.truncated, memory), record

    def chunk(carry: Any, now: Any) -> tuple[Any, Any]:
        after, record = jax.lax.scan(step, carry, now)
        return after, (record, carry[2])

    # the stock of levels is new, and none of it is used
    running = runner.running._replace(used=jnp.zeros_like(runner.running.used))
    cut = jax.tree.map(lambda x: x.reshape(-1, s.chunk, *x.shape[1:]), (keys, noise))
    start = (running, runner.first, runner.actor_memory)
    (running, first, memory), (record, memories) = jax.lax.scan(chunk, start, cut)
    rollout = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), record)
    return RunnerState(running, first, memory, runner.critic_memory), rollout, memories


def in_chunks(rollout: Any, chunk: int) -> Any:
    """Cut time into chunks: [time, env, …] → [piece, env, chunk, …], in every leaf."""

    def cut(x: Shaped[Array, "time env *rest"]) -> Shaped[Array, "piece env chunk *rest"]:
        return jnp.swapaxes(x.reshape(-1, chunk, *x.shape[1:]), 1, 2)

    return jax.tree.map(cut, rollout)


def log_prob_of(
    logits: Float[Array, "*batch action"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """log π(action)."""
    logs = jax.nn.log_softmax(logits)
    # a sum over few actions; its transpose is no scatter
    return (logs * jax.nn.one_hot(action, logits.shape[-1], dtype=logs.dtype)).sum(-1)
