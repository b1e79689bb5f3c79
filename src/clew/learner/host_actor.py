"""An agent at play in environments on the host: one compiled call for each step of all copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from clew.envs import Environment, Knowing, Known
from clew.envs.hosted.copies import Copies, HostStep
from clew.envs.hosted.environment import HostedEnvironment
from clew.envs.hosted.recipe import EnvironmentFailed
from clew.envs.hosted.spaces import Batch
from clew.learner.agent import Agent, MemoryState, Seen, act
from clew.learner.program import Program
from clew.learner.rollout import log_prob_of

Parts = tuple[np.ndarray, ...]
"""Observations of all copies; and what a perfect memory would know, if that is given."""


def hosted_env(env: Environment) -> HostedEnvironment:
    """The environment itself, whether or not its knowledge is given."""
    world = env.world if isinstance(env, Knowing) else env
    assert isinstance(world, HostedEnvironment)
    return world


def parts_of(env: Environment, batch: Batch) -> Parts:
    """What a vector hands out, as arrays for a network."""
    world = hosted_env(env)
    obs = world.layout.array(batch)
    if not isinstance(env, Knowing):
        return (obs,)
    assert world.facts is not None
    return obs, world.facts.flat(batch)


def seen(parts: Sequence[Any]) -> Seen:
    """As the agent's networks take them."""
    return Known(*parts) if len(parts) > 1 else parts[0]


class HostActor:
    """Acts in `n` copies, and keeps its memory of them."""

    def __init__(self, program: Program, agent: Agent, n: int, memory: MemoryState | None = None):
        """Without a memory given, it begins with an empty one."""
        self._compiled = compiled_actor(program, n)
        self._leaves = jax.tree.leaves((agent.actor, agent.policy))
        self._table = self._compiled.table(self._leaves)
        self.memory: list[Array] = jax.tree.leaves(
            agent.actor.initial_state(n) if memory is None else memory
        )
        """Its leaves."""

    def sample(
        self, parts: Parts, first: Bool[np.ndarray, " env"], noise: Float[np.ndarray, "env action"]
    ) -> tuple[Int[np.ndarray, " env"], Float[np.ndarray, " env"]]:
        """An action of each copy, by Gumbel noise, and the logarithm of its probability."""
        packed, self.memory = self._compiled.sample(
            self._leaves, self._table, self.memory, parts, first, noise
        )
        action, log_prob = np.asarray(packed)
        return action, log_prob.view(np.float32)

    def choose(self, parts: Parts, first: Bool[np.ndarray, " env"]) -> Int[np.ndarray, " env"]:
        """The likeliest action in each copy."""
        action, self.memory = self._compiled.choose(
            self._leaves, self._table, self.memory, parts, first
        )
        return np.asarray(action)


class PlayedStep(NamedTuple):
    """One step of several episodes that are played together."""

    t: int
    alive: Bool[np.ndarray, " episode"]
    """Whether the episode had not ended before this step."""
    action: Int[np.ndarray, " episode"]
    step: HostStep


def play(
    program: Program,
    copies: Copies,
    seeds: Sequence[int],
    choose: Callable[[Parts, Bool[np.ndarray, " env"]], Int[np.ndarray, " env"]],
    before: Callable[[int, Any], None] = lambda t, info: None,
) -> Iterator[PlayedStep]:
    """Play one episode in every copy, from reset to end.

    `before` is called with the `info` of every observation, before the agent sees it.
    """
    env, n = hosted_env(program.env), len(seeds)
    batch, info = copies.reset(seeds)
    alive = np.ones(n, bool)
    for t in range(env.horizon):
        before(t, info)
        action = choose(parts_of(program.env, batch), np.full(n, t == 0))
        step = copies.step(action)
        yield PlayedStep(t, alive, action, step)
        alive = alive & ~(step.terminated | step.truncated)
        if not alive.any():
            return
        batch, info = step.obs, step.info
    raise EnvironmentFailed(
        f"{env.title} did not end an episode within its time limit of {env.horizon} steps; state "
        "it with the option max_episode_steps"
    )


def seeds_of(*numbers: int, n: int) -> list[int]:
    """`n` seeds for resets, decided by some numbers."""
    return [int(seed) >> 1 for seed in np.random.SeedSequence(numbers).generate_state(n)]


class CompiledActor(NamedTuple):
    """Functions of the leaves of an agent's actor and policy: a flat list is quick to hand over."""

    table: Callable[..., Any]
    sample: Callable[..., Any]
    choose: Callable[..., Any]


@cache
def compiled_actor(program: Program, n: int) -> CompiledActor:
    """For `n` environments."""
    observations, actions = program.observations, len(program.env.action_names)
    shapes = jax.eval_shape(program.agent, jax.random.key(0))
    tree = jax.tree.structure((shapes.actor, shapes.policy))
    leaves = jax.tree.leaves((shapes.actor, shapes.policy))
    memory = jax.eval_shape(lambda: shapes.actor.initial_state(n))
    memory_tree = jax.tree.structure(memory)

    def agent_of(leaves: list[Array]) -> Agent:
        actor, policy = jax.tree.unflatten(tree, leaves)
        return Agent(actor=actor, critic=None, policy=policy, value=None)  # type: ignore[arg-type]

    def table(leaves: list[Array]) -> Any:
        with jax.default_matmul_precision(program.precision):
            return agent_of(leaves).actor.encode_table(observations)

    def acted(
        leaves: list[Array],
        table: Any,
        memory: list[Array],
        parts: tuple[Array, ...],
        first: Array,
        noise: Array | None = None,
    ) -> tuple[Array, list[Array]]:
        state = jax.tree.unflatten(memory_tree, memory)
        with jax.default_matmul_precision(program.precision):
            agent = agent_of(leaves)
            done = act(agent, observations, table, state, seen(parts), first, noise)
        after = jax.tree.leaves(done.memory)
        if noise is None:
            return done.action, after
        log_prob = log_prob_of(done.logits, done.action)
        # one array is fetched faster than two
        bits = jax.lax.bitcast_convert_type(log_prob, jnp.int32)
        return jnp.stack((done.action.astype(jnp.int32), bits)), after

    _, one = jax.eval_shape(program.env.start, jax.ShapeDtypeStruct((), jnp.uint32))
    parts = tuple(jax.ShapeDtypeStruct((n, *x.shape), x.dtype) for x in jax.tree.leaves(one))
    first = jax.ShapeDtypeStruct((n,), bool)
    noise = jax.ShapeDtypeStruct((n, actions), jnp.float32)
    tables = jax.eval_shape(table, leaves)
    given = (leaves, tables, jax.tree.leaves(memory), parts, first)
    return CompiledActor(
        jax.jit(table).lower(leaves).compile(),
        jax.jit(acted).lower(*given, noise).compile(),
        jax.jit(acted).lower(*given).compile(),
    )
