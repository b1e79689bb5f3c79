"""A trained actor, put together again from its arrays, and what it does when it is let play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clew.learner.agent import Agent
from clew.learner.program import Program
from clew.learner.run import precision_of
from clew.validate import BadInput, whole_number

PARTS = ("actor/", "policy/")


class Episode(NamedTuple):
    """From reset to end."""

    states: list[Any]
    """What `Environment.picture` draws: one more than there are actions."""
    actions: list[int]
    success: bool


def actor_from_arrays(program: Program, arrays: Mapping[str, np.ndarray]) -> Agent:
    """The agent whose actor has these weights, by their paths; its critic knows nothing."""
    paths, structure = jax.tree_util.tree_flatten_with_path(
        jax.eval_shape(program.agent, jax.random.key(0))
    )
    named = {jax.tree_util.keystr(p, simple=True, separator="/"): leaf for p, leaf in paths}
    wanted = {name for name in named if name.startswith(PARTS)}
    if wrong := sorted(wanted ^ set(arrays)):
        raise BadInput(f"these are not the weights of this agent: {wrong[0]} is in only one")
    leaves = []
    for name, like in named.items():
        array = arrays.get(name, np.zeros(like.shape, like.dtype))
        if array.shape != like.shape:
            raise BadInput(
                f"these are not the weights of this agent: {name} is {array.shape}, "
                f"and should be {like.shape}"
            )
        leaves.append(jnp.asarray(array, like.dtype))
    return jax.tree.unflatten(structure, leaves)


def play_episodes(program: Program, agent: Agent, seed: int, n: int) -> Iterator[Episode]:
    """Play as evaluations do: the likeliest action, in levels drawn from `seed`."""
    env, observations = program.env, program.observations
    whole_number("episodes", n, 0)
    symbols = agent.actor.symbols(observations)

    reset = jax.jit(env.reset)

    @jax.jit
    def step(state: Any, obs: Any, memory: Any, first: Any, key: Any) -> Any:
        seen = agent.actor.see(observations, symbols, obs[None])
        memory, features = agent.actor.step(memory, seen, first[None])
        action = jnp.argmax(agent.policy(features), -1)[0]
        return *env.step(state, action, key), memory, action

    for key in jax.random.split(jax.random.key(whole_number("seed", seed, 0, 2**32 - 1)), n):
        reset_key, step_key = jax.random.split(key)
        state, obs = reset(reset_key)
        memory, states, actions = agent.actor.initial_state(1), [state], []
        for t in range(env.horizon):
            with jax.default_matmul_precision(precision_of(program)):
                state, result, memory, action = step(
                    state, obs, memory, jnp.bool_(t == 0), jax.random.fold_in(step_key, t)
                )
            states.append(state)
            actions.append(int(action))
            obs = result.obs
            if result.terminated or result.truncated:
                yield Episode(states, actions, bool(result.success))
                break
