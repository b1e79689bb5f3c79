"""What must hold in every registered world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.envs import Environment
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.testing import WORLD_LAWS


@pytest.mark.parametrize("law", WORLD_LAWS, ids=lambda law: law.__name__)
def test_law(env: Environment, law: Callable[[Environment], None]) -> None:
    law(env)


def test_pictures_have_colours(env: Environment) -> None:
    picture = env.picture(env.reset(jax.random.key(0))[0])
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 4


def test_an_empty_stock_is_filled_on_the_spot() -> None:
    """With one level in stock all later ones are drawn fresh, no two alike."""

    class Unsure(TinyReproduce):
        """It does not say that no episode is shorter."""

        @property
        def typical_length(self) -> int:
            return self.k

        @property
        def shortest_length(self) -> int:
            return 1

    env = Unsure(k=8, v=9)
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


@pytest.mark.parametrize("begun_before", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 9, 10])
def test_a_stock_lasts_for_the_shortest_episodes(steps: int, begun_before: bool) -> None:
    """Every level is begun once, also where an episode of an earlier rollout ends at once."""
    env = TinyReproduce(k=3, v=1000)
    levels = envs.lay_out(env, jax.random.key(0), steps)
    running = envs.begin(env, levels)
    if begun_before:
        for _ in range(env.k - 1):
            running, _ = envs.advance(env, levels, running, jnp.int32(0), jax.random.key(1))
        running = running._replace(used=jnp.int32(0))
    begun = []
    for _ in range(steps):
        used = int(running.used)
        wrong = (running.state.sequence[-1] + 1) % env.v
        running, step = envs.advance(env, levels, running, wrong, jax.random.key(1))
        if step.terminated:
            begun.append(used)
    assert len(begun) == (steps + (env.k - 1 if begun_before else 0)) // env.k
    assert all(used < len(levels) for used in begun)


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
