"""What must hold in every registered world."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.envs import Environment

COPIES = 3


@cache
def _stretch(env: Environment) -> Any:
    """A compiled stretch of random play, long enough to hold an end: what was seen, the step."""
    steps = env.horizon + env.horizon // 2

    def one(key: jax.Array) -> Any:
        level_key, action_key = jax.random.split(key)
        levels = envs.lay_out(env, level_key, steps)
        actions = jax.random.randint(action_key, (steps,), 0, len(env.action_names))

        def body(running: envs.Running, now: Any) -> Any:
            after, step = envs.advance(env, levels, running, *now)
            return after, (running, step)

        first = jax.vmap(lambda level: env.start(level)[1])(levels)
        keys = jax.random.split(key, steps)
        return *jax.lax.scan(body, envs.begin(env, levels), (actions, keys))[1], first

    return jax.jit(jax.vmap(one))


@cache
def _played(env: Environment) -> Any:
    return jax.device_get(_stretch(env)(jax.random.split(jax.random.key(0), COPIES)))


def test_shapes_and_types(env: Environment) -> None:
    running, step, _ = _played(env)
    shape = (COPIES, env.horizon + env.horizon // 2)
    assert step.events.shape == (*shape, len(env.event_names))
    assert step.events.dtype == jnp.float32
    for flag in (step.terminated, step.truncated, step.success):
        assert flag.shape == shape
        assert flag.dtype == jnp.bool_
    decoded = env.decode(jnp.asarray(running.obs[:2, :5]))
    assert decoded.shape == (2, 5, *env.obs_shape)
    assert decoded.dtype == env.obs_dtype


def test_alphabet_has_no_duplicates_and_stays_in_range(env: Environment) -> None:
    if env.alphabet is None:
        pytest.skip("its observations are not numbered, or too many for a table")
    assert env.n_symbols == len(env.alphabet)
    assert env.alphabet.shape[1:] == env.obs_shape
    assert env.alphabet.dtype == env.obs_dtype
    assert len(np.unique(env.alphabet.reshape(len(env.alphabet), -1), axis=0)) == len(env.alphabet)
    assert env.alphabet.min() == 0
    assert env.alphabet.max() <= env.obs_high


def test_the_same_key_gives_the_same_episode(env: Environment) -> None:
    keys = jax.random.split(jax.random.key(0), COPIES)
    again = _stretch(env)(keys)
    jax.tree.map(np.testing.assert_array_equal, again, _played(env))
    jax.tree.map(
        np.testing.assert_array_equal, _stretch(env)(keys[::-1])[1].obs, again[1].obs[::-1]
    )


def test_episodes_end_within_the_horizon(env: Environment) -> None:
    _, step, _ = _played(env)
    for ended in step.terminated | step.truncated:
        lengths = np.diff(np.flatnonzero(ended), prepend=-1)
        assert lengths.max() <= env.horizon


def test_advance_begins_anew_exactly_after_an_end(env: Environment) -> None:
    running, step, first = _played(env)
    ended = (step.terminated | step.truncated)[:, :-1]
    assert ended.any()
    np.testing.assert_array_equal(np.diff(running.used, axis=1), ended)
    assert running.used[:, 0].max() == 1
    np.testing.assert_array_equal(running.obs[:, 1:][~ended], step.obs[:, :-1][~ended])
    stock = first.shape[1]
    for copy, t in np.argwhere(ended):
        level = running.used[copy, t + 1] - 1
        if level < stock:
            np.testing.assert_array_equal(running.obs[copy, t + 1], first[copy, level])


def test_prices_are_linear(env: Environment) -> None:
    _, step, _ = _played(env)
    for name, variant in env.reward_variants().items():
        prices = env.prices(name)
        assert prices.shape == (len(env.event_names),)
        rewards = np.asarray(envs.priced(prices, jnp.asarray(step.events)))
        slow = sum(
            price * step.events[..., env.event_names.index(event)]
            for event, price in variant.items()
        )
        np.testing.assert_allclose(rewards, slow, atol=1e-6)
    np.testing.assert_array_equal(env.prices({}), 0)


def test_info_and_picture_are_for_people(env: Environment) -> None:
    state, _ = env.reset(jax.random.key(0))
    plain = env.explain(state)
    assert plain["is_success"] is False
    picture = env.picture(state)
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 4


def test_environment_is_a_static_argument(env: Environment) -> None:
    again = envs.make(*[name for name in envs.names() if envs.make(name) == env])
    assert hash(again) == hash(env)


def test_an_empty_stock_is_filled_on_the_spot() -> None:
    """With one level in stock all later ones are drawn fresh, no two alike."""
    env = envs.make("TinyReproduce", k=8, v=9)
    levels = envs.lay_out(env, jax.random.key(0), 0)
    assert levels.shape == (1, 8)

    def body(running: envs.Running, key: jax.Array) -> Any:
        after, _ = envs.advance(env, levels, running, jnp.int32(0), key)
        return after, (running.state.sequence, running.used)

    keys = jax.random.split(jax.random.key(1), 200)
    _, (sequences, used) = jax.lax.scan(body, envs.begin(env, levels), keys)
    assert int(used[-1]) > 20
    assert len(np.unique(np.asarray(sequences), axis=0)) == int(used[-1])
    # the first levels of a larger stock are played as laid out
    stock = np.asarray(envs.lay_out(env, jax.random.key(0), 200))
    assert len(stock) == 26


@pytest.mark.parametrize("name", ["MysteryPath-Grid", "MiniGrid-MemoryS13", "TinyReproduce"])
def test_the_step_consumes_no_randomness(name: str) -> None:
    """All chance lies in the level, so that levels can be enumerated."""
    env = envs.make(name)
    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(3), 5))
    step = jax.jit(jax.vmap(env.step, in_axes=(0, None, None)))
    for action in jnp.arange(len(env.action_names)):
        one, two = (step(states, action, jax.random.key(seed)) for seed in (0, 1))
        jax.tree.map(np.testing.assert_array_equal, one, two)


@pytest.mark.parametrize("name", ["MysteryPath-Grid", "MiniGrid-MemoryS7", "TinyReproduce"])
@pytest.mark.slow
def test_with_64_bit_jax(name: str) -> None:
    """Types do not change with jax's default ones."""
    env = envs.make(name)
    with jax.enable_x64(True):
        levels = envs.lay_out(env, jax.random.key(0), 100)
        running = envs.begin(env, levels)
        after, step = envs.advance(env, levels, running, jnp.int32(1), jax.random.key(0))
        kinds = {leaf.dtype for leaf in jax.tree.leaves((after, step))}
        assert kinds <= {jnp.dtype(t) for t in (jnp.int32, jnp.float32, bool)}
        assert env.decode(step.obs).dtype == env.obs_dtype
        assert envs.random_episodes(env, jax.random.key(0), 2).events.dtype == jnp.float32
