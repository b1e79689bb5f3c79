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
from clew.envs.hosted import finite
from clew.envs.hosted.copies import Copies, HostStep
from clew.envs.hosted.environment import HostedEnvironment
from clew.envs.hosted.finite import Parts, require_finite
from clew.envs.hosted.recipe import EnvironmentFailed
from clew.envs.hosted.spaces import Batch
from clew.learner.agent import ActorStep, Agent, Encoding, MemoryState, Seen, act
from clew.learner.playing import NotFilmed
from clew.learner.program import Program
from clew.learner.program_cache import compile_program
from clew.learner.rollout import log_prob_of


def hosted_env(env: Environment) -> HostedEnvironment:
    """The environment itself, whether or not its knowledge is given."""
    world = env.world if isinstance(env, Knowing) else env
    assert isinstance(world, HostedEnvironment)
    return world


def parts_of(env: Environment, batch: Batch) -> Parts:
    """What a vector hands out, as arrays for a network."""
    return finite.parts_of(hosted_env(env), batch, given=isinstance(env, Knowing))


def seen(parts: Sequence[Any]) -> Seen:
    """As the agent's networks take them."""
    return Known(*parts) if len(parts) > 1 else parts[0]


class HostActor:
    """Acts in `n` copies, and keeps its memory of them."""

    def __init__(self, program: Program, agent: Agent, n: int, memory: MemoryState | None = None):
        """Without a memory given, it begins with an empty one."""
        self._program, self._n = program, n
        self._leaves = jax.tree.leaves((agent.actor, agent.policy))
        self._table = compiled_table(program)(self._leaves)
        self.memory: list[Array] = jax.tree.leaves(
            agent.actor.initial_state(n) if memory is None else memory
        )
        """Its leaves."""

    def sample(
        self, parts: Parts, first: Bool[np.ndarray, " env"], noise: Float[np.ndarray, "env action"]
    ) -> tuple[Int[np.ndarray, " env"], Float[np.ndarray, " env"]]:
        """An action of each copy, by Gumbel noise, and the logarithm of its probability."""
        packed, self.memory = compiled_sample(self._program, self._n)(
            self._leaves, self._table, self.memory, parts, first, noise
        )
        action, log_prob = np.asarray(packed)
        return action, log_prob.view(np.float32)

    def choose(self, parts: Parts, first: Bool[np.ndarray, " env"]) -> Int[np.ndarray, " env"]:
        """The likeliest action in each copy."""
        action, self.memory = compiled_choose(self._program, self._n)(
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
        require_finite(env, step.reward)
        yield PlayedStep(t, alive, action, step)
        alive = alive & ~(step.terminated | step.truncated)
        if not alive.any():
            return
        batch, info = step.obs, step.info
    raise EnvironmentFailed(
        f"{env.title} did not end an episode within its time limit of {env.horizon} steps; state "
        "it with the option max_episode_steps"
    )


def film(
    program: Program, agent: Agent, seed: int, number: int
) -> tuple[list[np.ndarray], list[int], bool]:
    """One episode in pictures: one more than there are actions; and whether it succeeded."""
    env = hosted_env(program.env)
    if not env.films:
        raise NotFilmed(f"{env.title} has no render_mode 'rgb_array', so it cannot be filmed")
    copy, actor = Copies(env, 1, once=True, filmed=True), HostActor(program, agent, 1)
    frames: list[np.ndarray] = []
    actions: list[int] = []
    success = False
    try:
        seeds = seeds_of(seed, number, n=1)
        draw: Callable[[int, Any], None] = lambda t, info: frames.append(copy.frame())  # noqa: E731
        for now in play(program, copy, seeds, actor.choose, draw):
            actions.append(int(now.action[0]))
            success = bool(now.step.success[0])
        return [*frames, copy.frame()], actions, success
    except EnvironmentFailed as error:
        raise NotFilmed(f"the episode cannot be filmed: {error}") from error
    finally:
        copy.close()


def seeds_of(*numbers: int, n: int) -> list[int]:
    """`n` seeds for resets, decided by some numbers."""
    return [int(seed) >> 1 for seed in np.random.SeedSequence(numbers).generate_state(n)]


@cache
def compiled_table(program: Program) -> Callable[..., Any]:
    """Compiled: every symbol encoded by the actor, if the environment has symbols."""
    actor = _Actor(program, 1)
    return compile_program(jax.jit(actor.table).lower(actor.leaves), None)


@cache
def compiled_sample(program: Program, n: int) -> Callable[..., Any]:
    """Compiled: sampled actions in `n` environments, with the bits of their log-probabilities."""
    actor = _Actor(program, n)
    noise = jax.ShapeDtypeStruct((n, len(program.env.action_names)), jnp.float32)
    return compile_program(jax.jit(actor.sample).lower(*actor.arguments(), noise), None)


@cache
def compiled_choose(program: Program, n: int) -> Callable[..., Any]:
    """Compiled: the likeliest actions in `n` environments."""
    actor = _Actor(program, n)
    return compile_program(jax.jit(actor.choose).lower(*actor.arguments()), None)


class _Actor:
    """Functions of the leaves of actor and policy: a flat list is quicker to hand over."""

    def __init__(self, program: Program, n: int):
        shapes = jax.eval_shape(program.agent, jax.random.key(0))
        self.program, self.n = program, n
        self.leaves, self._tree = jax.tree.flatten((shapes.actor, shapes.policy))
        memory = jax.eval_shape(lambda: shapes.actor.initial_state(n))
        self.memory, self._memory_tree = jax.tree.flatten(memory)

    def arguments(self) -> tuple[Any, ...]:
        """Shapes of the arguments below, without the noise."""
        _, one = jax.eval_shape(self.program.env.start, jax.ShapeDtypeStruct((), jnp.uint32))
        parts = [jax.ShapeDtypeStruct((self.n, *x.shape), x.dtype) for x in jax.tree.leaves(one)]
        first = jax.ShapeDtypeStruct((self.n,), bool)
        return (
            self.leaves,
            jax.eval_shape(self.table, self.leaves),
            self.memory,
            tuple(parts),
            first,
        )

    def table(self, leaves: list[Array]) -> Encoding | None:
        with jax.default_matmul_precision(self.program.precision):
            return self._agent(leaves).actor.encode_table(self.program.observations)

    def sample(
        self,
        leaves: list[Array],
        table: Encoding | None,
        memory: list[Array],
        parts: tuple[Array, ...],
        first: Array,
        noise: Array,
    ) -> tuple[Array, list[Array]]:
        acted = self._act(leaves, table, memory, parts, first, noise)
        log_prob = log_prob_of(acted.logits, acted.action)
        # one array is fetched faster than two
        bits = jax.lax.bitcast_convert_type(log_prob, jnp.int32)
        return jnp.stack((acted.action.astype(jnp.int32), bits)), jax.tree.leaves(acted.memory)

    def choose(
        self,
        leaves: list[Array],
        table: Encoding | None,
        memory: list[Array],
        parts: tuple[Array, ...],
        first: Array,
    ) -> tuple[Array, list[Array]]:
        acted = self._act(leaves, table, memory, parts, first, None)
        return acted.action, jax.tree.leaves(acted.memory)

    def _act(
        self,
        leaves: list[Array],
        table: Encoding | None,
        memory: list[Array],
        parts: tuple[Array, ...],
        first: Array,
        noise: Array | None,
    ) -> ActorStep:
        state = jax.tree.unflatten(self._memory_tree, memory)
        with jax.default_matmul_precision(self.program.precision):
            agent, observations = self._agent(leaves), self.program.observations
            return act(agent, observations, table, state, seen(parts), first, noise)

    def _agent(self, leaves: list[Array]) -> Agent:
        actor, policy = jax.tree.unflatten(self._tree, leaves)
        return Agent(actor=actor, critic=None, policy=policy, value=None)  # type: ignore[arg-type]
