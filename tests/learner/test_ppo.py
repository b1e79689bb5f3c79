"""The invariants of recurrent PPO that other implementations have broken."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from clew import envs, memory
from clew.learner import Program
from clew.learner.agent import components, policy_and_value
from clew.learner.ppo import Batch, clip_components, loss, minibatches
from clew.learner.rollout import collect_rollout, in_chunks
from tests.learner.conftest import begun, small, tiny


def rows(pieces: Any) -> Any:
    """[piece, env, …] → [piece · env, …]."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), pieces)


# of each kind one; that a memory's two forms agree is a law of memories
EVERY_TIME = ("GRU", "GTrXL", "Given", "Mamba-2")
SLOW = [pytest.param(a, marks=pytest.mark.slow) for a in memory.names() if a not in EVERY_TIME]


@pytest.mark.parametrize("architecture", [*EVERY_TIME, *SLOW])
def test_the_ratio_is_one_before_anything_changed(architecture: str) -> None:
    """Acting step by step and learning by chunks is one policy, resets inside chunks included."""
    program = Program.of(tiny(), architecture, settings=small())
    state = begun(program)
    agent, runner, settings = state.agent, state.runner, program.settings
    agent = jax.tree.map(lambda x: x * 1.5, agent)  # away from a uniform policy
    acted = jax.jit(partial(collect_rollout, program))
    runner, _, _ = acted(agent, runner, jax.random.key(0))
    # the second rollout begins with memories that are not empty
    runner, rollout, memories = acted(agent, runner, jax.random.key(1))
    zeros = jnp.zeros_like(rollout.log_prob)
    whole = Batch(
        rollout.obs, rollout.first, rollout.action, rollout.log_prob, advantage=zeros, target=zeros
    )
    chunks, start = rows((in_chunks(whole, settings.chunk), (memories, memories)))
    _, losses = jax.jit(partial(loss, observations=program.observations, settings=settings))(
        agent, batch=chunks, start=start, entropy_coef=jnp.float32(0)
    )
    assert losses.ratio_error < 1e-4
    assert np.asarray(rollout.first)[1:].any()
    assert np.ptp(rollout.log_prob) > 0.01


def test_chunks_are_contiguous_in_time() -> None:
    steps, n, chunk = 12, 3, 4
    t, e = jnp.meshgrid(jnp.arange(steps), jnp.arange(n), indexing="ij")
    marks = 100 * e + t
    cut = in_chunks(marks, chunk)
    assert cut.shape == (steps // chunk, n, chunk)
    for row in np.asarray(rows(cut)):
        assert (np.diff(row) == 1).all()
        assert row[0] % 100 % chunk == 0
    assert sorted(np.asarray(cut).ravel()) == sorted(np.asarray(marks).ravel())


def test_every_epoch_sees_every_chunk_once() -> None:
    settings = small(epochs=3)
    batches = np.asarray(minibatches(jax.random.key(0), settings))
    epochs = batches.reshape(settings.epochs, -1)
    assert (np.sort(epochs, 1) == np.arange(settings.chunks)).all()
    assert (epochs[0] != epochs[1]).any()


@pytest.mark.parametrize("shared", [False, True])
def test_loss_against_a_slow_computation(shared: bool) -> None:
    program = Program.of(tiny(), "GRU", settings=small(shared=shared))
    state = begun(program)
    _, rollout, actor_memory = jax.jit(partial(collect_rollout, program))(
        state.agent, state.runner, state.key
    )
    rng = np.random.default_rng(0)
    old = rollout.log_prob + 0.3 * rng.normal(size=rollout.log_prob.shape)
    gain, target = rng.normal(size=(2, *old.shape))
    whole = Batch(rollout.obs, rollout.first, rollout.action, old, gain, target)
    chunks, start = rows(
        (in_chunks(jax.tree.map(jnp.asarray, whole), 8), (actor_memory, actor_memory))
    )
    total, losses = loss(
        state.agent, program.observations, program.settings, chunks, start, jnp.float32(0.1)
    )

    logits, value = policy_and_value(
        state.agent, program.observations, start, chunks.obs, chunks.first
    )
    logits, value = np.float64(logits), np.float64(value)
    probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    chosen = np.take_along_axis(probs, np.asarray(chunks.action)[..., None], -1)[..., 0]
    ratio = chosen / np.exp(np.float64(chunks.log_prob))
    a = np.float64(chunks.advantage)
    a = (a - a.mean()) / (a.std() + 1e-8)
    policy = -np.minimum(ratio * a, np.clip(ratio, 0.8, 1.2) * a).mean()
    error = ((value - np.asarray(chunks.target)) ** 2).mean()
    entropy = -(probs * np.log(probs)).sum(-1).mean()
    np.testing.assert_allclose(losses.policy_loss, policy, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(losses.value_loss, error, rtol=1e-4)
    np.testing.assert_allclose(losses.entropy, entropy, rtol=1e-4)
    np.testing.assert_allclose(losses.kl, (ratio - 1 - np.log(ratio)).mean(), rtol=1e-3)
    np.testing.assert_allclose(total, policy + error - 0.1 * entropy, rtol=1e-4)


def test_a_shared_backbone_learns_from_the_actor_alone() -> None:
    program = Program.of(tiny(), "GRU", settings=small(shared=True))
    state = begun(program)
    obs, first = jnp.zeros((4, 8), int), jnp.zeros((4, 8), bool)

    def values(agent: Any) -> Any:
        return policy_and_value(
            agent, program.observations, (state.runner.actor_memory,) * 2, obs, first
        )[1].sum()

    grads = jax.grad(values)(state.agent)
    assert max(float(jnp.abs(x).max()) for x in jax.tree.leaves(grads.actor)) == 0
    assert max(float(jnp.abs(x).max()) for x in jax.tree.leaves(grads.value)) > 0


def test_each_component_is_clipped_alone() -> None:
    agent = begun(Program.of(tiny(), "LSTM", settings=small())).agent
    rng = np.random.default_rng(0)
    scale = dict(zip(components(agent), (0.01, 5, 0.02, 7, 0.001, 9), strict=True))
    grads = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), jnp.float32), agent)
    parts = {
        name: jax.tree.map(lambda x, name=name: x * scale[name], part)
        for name, part in components(grads).items()
    }
    grads = type(grads)(
        actor=type(grads.actor)(parts["actor encoder"], parts["actor memory"]),
        critic=type(grads.actor)(parts["critic encoder"], parts["critic memory"]),
        policy=parts["actor head"],
        value=parts["critic head"],
    )
    clipped, norms = clip_components(grads, 0.5)
    whole, as_agent = ravel_pytree(grads)
    assert clipped.shape == whole.shape
    parts = components(grads), components(as_agent(clipped))
    for i, pair in enumerate(zip(*(part.values() for part in parts), strict=True)):
        before, after = (np.asarray(ravel_pytree(part)[0]) for part in pair)
        length = np.linalg.norm(before)
        np.testing.assert_allclose(norms[i], length, rtol=1e-5)
        np.testing.assert_allclose(after, before * min(1, 0.5 / length), rtol=1e-4)


def test_the_log_probability_is_that_of_the_policy_that_acted() -> None:
    """Frequencies of sampled actions follow the softmax of the logits."""
    env = envs.make("TinyReproduce", k=3, v=4)
    program = Program.of(env, "Memoryless", settings=small(envs=64, steps=64, chunk=64))
    state = begun(program)
    agent = jax.tree.map(lambda x: x * 60, state.agent.policy)
    state = state._replace(
        agent=type(state.agent)(state.agent.actor, state.agent.critic, agent, state.agent.value)
    )
    _, rollout, _ = jax.jit(partial(collect_rollout, program))(state.agent, state.runner, state.key)
    obs, action = np.asarray(rollout.obs).ravel(), np.asarray(rollout.action).ravel()
    probs = np.exp(np.asarray(rollout.log_prob)).ravel()
    often = 0
    for symbol in range(5):
        for choice in range(4):
            mine = (obs == symbol) & (action == choice)
            if mine.sum() > 100:
                often += 1
                claimed, share = probs[mine].mean(), mine.sum() / (obs == symbol).sum()
                assert abs(claimed - share) < 4 * np.sqrt(claimed / (obs == symbol).sum())
    assert often >= 10
