"""Advantages against a slow loop, and the values they rest on."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import envs
from clew.learner import Program
from clew.learner.advantages import CriticValues, advantages, critic_values
from clew.learner.rollout import collect_rollout
from tests.learner.conftest import begun, small

compiled = {
    backend: jax.jit(partial(advantages), static_argnames="gae_lambda")
    for backend in ("cpu", "gpu")
}


def slow(
    reward: Any, value: Any, next_value: Any, terminated: Any, ended: Any, g: float, lam: float
):
    """The definition: a sum over the rest of the episode, term by term."""
    steps, n = reward.shape
    result = np.zeros((steps, n))
    for env in range(n):
        for t in range(steps):
            weight = 1.0
            for later in range(t, steps):
                goes_on = 0.0 if terminated[later, env] else next_value[later, env]
                td_error = reward[later, env] + g * goes_on - value[later, env]
                result[t, env] += weight * td_error
                if ended[later, env]:
                    break
                weight *= g * lam
    return result


@pytest.mark.parametrize("backend", compiled)
@given(seed=st.integers(0, 2**32 - 1))
def test_advantages_are_the_sum_they_are_defined_as(seed: int, backend: str) -> None:
    rng = np.random.default_rng(seed)
    shape = (12, 3)
    reward, value, next_value = (rng.normal(size=shape).astype(np.float32) for _ in range(3))
    terminated, truncated = (rng.random(shape) < 0.2 for _ in range(2))
    ended = terminated | truncated
    valued = CriticValues(jnp.asarray(value), jnp.asarray(next_value), None)
    with mock.patch.object(jax, "default_backend", return_value=backend):
        ours = compiled[backend](
            jnp.asarray(reward), valued, terminated, ended, jnp.float32(0.97), gae_lambda=0.9
        )
    wanted = slow(reward, value, next_value, terminated, ended, 0.97, 0.9)
    np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ["GRU", "Mamba-2"])
@pytest.mark.parametrize("shared", [False, True])
def test_every_next_observation_has_the_value_of_its_own_episode(
    architecture: str, shared: bool
) -> None:
    """Values by whole chunks equal a critic that walks along and looks ahead at each step.

    Episodes of 5 steps are cut short several times in a chunk, and across rollouts.
    """
    env = envs.make("MiniGrid-MemoryS7", max_steps=5)
    program = Program.of(env, architecture, settings=small(shared=shared))
    state = begun(program)
    agent, runner = state.agent, state.runner

    step = jax.jit(partial(_step, program))
    played = jax.jit(partial(collect_rollout, program))
    valued_by = jax.jit(partial(critic_values, program))
    memory, cut = runner.critic_memory, 0
    for round_ in range(2):
        runner, rollout, _ = played(agent, runner, jax.random.key(round_))
        runner, valued = valued_by(agent, runner, rollout)
        for t in range(program.settings.steps):
            memory, value = step(agent, memory, rollout.obs[t], rollout.first[t])
            np.testing.assert_allclose(valued.value[t], value, rtol=1e-4, atol=1e-5)
            never = jnp.zeros_like(rollout.first[t])
            _, ahead = step(agent, memory, rollout.next_obs[t], never)
            counts = ~np.asarray(rollout.terminated[t])  # nothing follows a terminated episode
            np.testing.assert_allclose(
                valued.next_value[t][counts], ahead[counts], rtol=1e-4, atol=1e-5
            )
        cut += int((rollout.truncated & ~rollout.terminated).sum())
    assert cut > 2 * program.settings.envs


def _step(program: Program, agent: Any, memory: Any, obs: Any, first: Any) -> Any:
    critic = agent.critic_backbone
    table = critic.encode_table(program.observations)
    seen = critic.encode(program.observations, table, obs)
    memory, features = critic.step(memory, seen, first)
    return memory, agent.value(features)
