"""A trained actor, restored from its stored weights, and episodes that it plays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from clew.envs import Step
from clew.learner.agent import Agent, MemoryState, Seen, act
from clew.learner.checkpoint import named_leaves, restore
from clew.learner.program import Program
from clew.validate import BadInput, whole_number

PARTS = ("actor/", "policy/")


class NotFilmed(BadInput):
    """An environment on the host draws nothing, or fails as it is played for a film."""


class Episode(NamedTuple):
    """From reset to end."""

    states: list[PyTree[Array]]
    """What `Environment.picture` draws: one more than there are actions."""
    actions: list[int]
    success: bool


def actor_from_arrays(program: Program, arrays: Mapping[str, np.ndarray]) -> Agent:
    """The agent whose actor has these weights, by their paths; its critic's are all zero."""
    shapes = jax.eval_shape(program.agent, jax.random.key(0))
    if unknown := sorted(name for name in arrays if not name.startswith(PARTS)):
        raise BadInput(f"these arrays are not weights of an actor: {unknown[0]} is none")
    critic = {
        name: np.zeros(leaf.shape, leaf.dtype)
        for name, leaf in named_leaves(shapes).items()
        if not name.startswith(PARTS)
    }
    return restore(shapes, {**arrays, **critic}, "the weights of this agent")


def play_episodes(program: Program, agent: Agent, seed: int, n: int) -> Iterator[Episode]:
    """Play as evaluations do: the likeliest action, in levels drawn from `seed`."""
    env, observations = program.env, program.observations
    whole_number("episodes", n, 0)
    whole_number("seed", seed, 0, 2**32 - 1)
    if env.hosted:
        from clew.learner.host_actor import film  # which needs gymnasium

        yield from (Episode(*film(program, agent, seed, number)) for number in range(n))
        return
    table = agent.actor.encode_table(observations)
    reset = jax.jit(env.reset)

    @jax.jit
    def step(
        state: PyTree[Array],
        obs: Seen,
        memory: MemoryState,
        first: Bool[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[PyTree[Array], Step, MemoryState, Array]:
        alone = jax.tree.map(lambda x: x[None], obs)
        acted = act(agent, observations, table, memory, alone, first[None])
        state, result = env.step(state, acted.action[0], key)
        return state, result, acted.memory, acted.action[0]

    for key in jax.random.split(jax.random.key(seed), n):
        reset_key, step_key = jax.random.split(key)
        state, obs = reset(reset_key)
        memory, states, actions = agent.actor.initial_state(1), [state], []
        for t in range(env.horizon):
            with jax.default_matmul_precision(program.precision):
                state, result, memory, action = step(
                    state, obs, memory, jnp.bool_(t == 0), jax.random.fold_in(step_key, t)
                )
            states.append(state)
            actions.append(int(action))
            obs = result.obs
            if result.terminated or result.truncated:
                yield Episode(states, actions, bool(result.success))
                break
