"""Collect a rollout: the policy acts in every environment, and what PPO needs is recorded."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from clew.envs import Running, Step, advance, begin, lay_out
from clew.learner.agent import Agent, MemoryState, Seen, act
from clew.learner.joined import join, part
from clew.learner.program import Program

T = TypeVar("T")
Carry = tuple[Running, Bool[Array, " env"], MemoryState]
KeysAndNoise = tuple[PRNGKeyArray, Float[Array, "..."]]
Recorded = tuple[Seen, Int[Array, " env"], Float[Array, "env action"], Step]
"""Of a step: what was seen, the action, its logits, and what came of it."""


class RunnerState(NamedTuple):
    """The environments of one run and the agent's memories of them, between rollouts."""

    running: Running
    first: Bool[Array, " env"]
    """Whether the current observation is the first of its episode."""
    actor_memory: MemoryState
    critic_memory: MemoryState
    """The same as the actor's if the backbone is shared."""


class Rollout(NamedTuple):
    """The steps of a rollout, in the order of time."""

    obs: Seen
    """[time, env, …]."""
    first: Bool[Array, "time env"]
    action: Int[Array, "time env"]
    log_prob: Float[Array, "time env"]
    next_obs: Seen
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


@jax.named_scope("rollout")
def collect_rollout(
    program: Program, agent: Agent, runner: RunnerState, key: PRNGKeyArray
) -> tuple[RunnerState, Rollout, MemoryState]:
    """Returns the runner after the rollout, the rollout, and the actor's memory at the beginning
    of each chunk of it."""
    env, observations, s = program.env, program.observations, program.settings
    level_key, step_key, noise_key = jax.random.split(key, 3)
    levels = jax.vmap(lambda k: lay_out(env, k, s.steps))(jax.random.split(level_key, s.envs))
    keys = jax.random.split(step_key, (s.steps, s.envs))
    noise = jax.random.gumbel(noise_key, (s.steps, s.envs, len(env.action_names)))
    table = agent.actor.encode_table(observations)

    def step(carry: Carry, keys_and_noise: KeysAndNoise) -> tuple[Carry, Recorded]:
        running, first, memory = carry
        keys, noise = keys_and_noise
        acted = act(agent, observations, table, memory, running.obs, first, noise)
        after, result = jax.vmap(lambda *each: advance(env, *each))(
            levels, running, acted.action, keys
        )
        recorded = (running.obs, acted.action, acted.logits, result)
        return (after, result.terminated | result.truncated, acted.memory), recorded

    def chunk(
        carry: Carry, keys_and_noise: KeysAndNoise
    ) -> tuple[Carry, tuple[list[Array], MemoryState]]:
        def joined_step(carry: Carry, now: KeysAndNoise) -> tuple[Carry, list[Array]]:
            carry, recorded = step(carry, now)
            return carry, join(recorded)

        after, steps = jax.lax.scan(joined_step, carry, keys_and_noise)
        return after, (steps, carry[2])

    # the stock of levels is new, and none of it is used
    running = runner.running._replace(used=jnp.zeros_like(runner.running.used))
    cut = jax.tree.map(lambda x: x.reshape(-1, s.chunk, *x.shape[1:]), (keys, noise))
    start = (running, runner.first, runner.actor_memory)
    (running, first, memory), (chunks, memories) = jax.lax.scan(chunk, start, cut)
    shapes = jax.eval_shape(step, start, (keys[0], noise[0]))[1]
    steps = [x.reshape(-1, *x.shape[2:]) for x in chunks]
    obs, action, logits, result = part(steps, shapes)
    done = result.terminated | result.truncated
    rollout = Rollout(
        obs=obs,
        first=jnp.concatenate((runner.first[None], done[:-1])),
        action=action,
        log_prob=log_prob_of(logits, action),
        next_obs=result.obs,
        events=result.events,
        terminated=result.terminated,
        truncated=result.truncated,
        success=result.success,
    )
    return RunnerState(running, first, memory, runner.critic_memory), rollout, memories


def in_chunks(rollout: T, chunk: int) -> T:
    """Cut time into chunks: [time, env, …] → [piece, env, chunk, …], in every leaf."""

    def cut(x: Shaped[Array, "time env *rest"]) -> Shaped[Array, "piece env chunk *rest"]:
        return jnp.swapaxes(x.reshape(-1, chunk, *x.shape[1:]), 1, 2)

    return jax.tree.map(cut, rollout)


def log_prob_of(
    logits: Float[Array, "*batch action"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """log π(action)."""
    log_probs = jax.nn.log_softmax(logits)
    # a sum over few actions: its gradient needs no scatter
    return (log_probs * jax.nn.one_hot(action, logits.shape[-1], dtype=log_probs.dtype)).sum(-1)
