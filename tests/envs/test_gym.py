"""The worlds in Gymnasium's form."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import clew
from clew import envs
from clew.envs.gym import STOCK, ClewEnv

IDS = tuple(f"clew/{name}-v0" for name in envs.names())


def make(gym_id: str, **options: Any) -> ClewEnv:
    env = gymnasium.make(gym_id, **options).unwrapped
    assert isinstance(env, ClewEnv)
    return env


@pytest.mark.parametrize("gym_id", IDS)
def test_gymnasiums_own_checker(gym_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(gym_id, render_mode="rgb_array"))


def test_the_readmes_call() -> None:
    env = gymnasium.make("clew/MysteryPath-Grid-v0", reward="penalty", show_goal=True)
    obs, info = env.reset(seed=1)
    assert obs.shape == (84, 84, 3)
    assert info["falls"] == 0
    assert clew.__version__
    total, terminated, truncated = 0.0, False, False
    while not terminated:
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total += float(reward)
    assert not truncated
    assert round(total, 5) == round(-0.008 * info["falls"] + info["success"], 5)


def test_a_price_list_of_ones_own() -> None:
    env = make("clew/MysteryPath-Grid-v0", reward={"step": -0.5})
    env.reset(seed=0)
    assert env.step(0)[1] == -0.5


def test_steps_are_the_worlds() -> None:
    """Same level, same actions: the Gymnasium form adds nothing."""
    env = make("clew/MiniGrid-MemoryS7-v0", reward="native", view=5)
    world = env.world
    obs, _ = env.reset(seed=4)
    state = env.state
    rng = np.random.default_rng(0)
    for _ in range(200):
        action = int(rng.integers(7))
        state, step = world.step(state, action, jax.random.key(0))  # type: ignore[arg-type]
        obs, reward, terminated, truncated, info = env.step(action)
        np.testing.assert_array_equal(obs, np.asarray(world.decode(step.obs)))
        assert abs(reward - float(envs.priced(world.prices("native"), step.events))) < 1e-6
        assert (terminated, truncated) == (bool(step.terminated), bool(step.truncated))
        assert info["is_success"] == bool(step.success)
        if terminated or truncated:
            break


@pytest.mark.parametrize("action", [-1, 4, 2.5, "left", [3], np.array([1, 2])])
def test_an_action_that_is_none(action: object) -> None:
    env = make("clew/MysteryPath-Grid-v0")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action="):
        env.step(action)  # type: ignore[arg-type]


def test_using_it_before_reset() -> None:
    env = make("clew/TinyReproduce-v0", render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()


def test_unknown_options_and_rewards() -> None:
    with pytest.raises(ValueError, match="unknown option of MysteryPath-Grid 'world'"):
        gymnasium.make("clew/MysteryPath-Grid-v0", world="TinyReproduce")
    with pytest.raises(ValueError, match="options="):
        make("clew/MysteryPath-Grid-v0").reset(options={"show_goal": True})
    with pytest.raises(ValueError, match=r"unknown option of MysteryPath-Grid 'color'"):
        gymnasium.make("clew/MysteryPath-Grid-v0", color="red")
    with pytest.raises(ValueError, match="reward of TinyReproduce 'native'"):
        gymnasium.make("clew/TinyReproduce-v0", reward="native")


# The vector form ------------------------------------------------------------------------------


def make_vec(gym_id: str, n: int, **options: Any) -> gymnasium.vector.VectorEnv:
    return gymnasium.make_vec(
        gym_id, num_envs=n, vectorization_mode="vector_entry_point", **options
    )


@pytest.mark.parametrize("gym_id", ["clew/MysteryPath-Grid-v0", "clew/TinyReproduce-v0"])
def test_vector_form_resets_in_the_step_after_an_end(gym_id: str) -> None:
    n = 8
    env = make_vec(gym_id, n, reward={"step": 1.0})
    obs, _ = env.reset(seed=0)
    assert obs.shape == env.observation_space.shape
    rng = np.random.default_rng(0)
    ended = np.zeros(n, bool)
    length = np.zeros(n, int)
    world = env.world  # type: ignore[attr-defined]
    for _ in range(3 * world.horizon):
        actions = rng.integers(world.action_names.__len__(), size=n)
        obs, reward, terminated, truncated, info = env.step(actions)
        np.testing.assert_array_equal(reward, ~ended)
        assert not (terminated | truncated)[ended].any()
        assert obs in env.observation_space
        assert info["events"].shape == (n, len(world.event_names))
        length = np.where(ended, 0, length + 1)
        ended = terminated | truncated
        assert (length <= world.horizon).all()


def test_vector_form_agrees_with_the_single_one() -> None:
    """A vector of copies steps each as the single form would from the same state."""
    env = make_vec("clew/MiniGrid-MemoryS9-v0", 4, reward="distractor")
    env.reset(seed=3)
    world = env.world  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    for _ in range(60):
        before = jax.device_get(env._states)  # type: ignore[attr-defined]
        was_over = env._ended.copy()  # type: ignore[attr-defined]
        actions = rng.integers(7, size=4)
        obs, reward, terminated, _, _ = env.step(actions)
        for i in np.flatnonzero(~was_over):
            state = jax.tree.map(lambda leaf, i=i: leaf[i], before)
            _, step = world.step(state, actions[i], jax.random.key(0))
            np.testing.assert_array_equal(obs[i], np.asarray(world.decode(step.obs)))
            expected = float(envs.priced(world.prices("distractor"), step.events))
            assert abs(reward[i] - expected) < 1e-6
            assert terminated[i] == bool(step.terminated)


def test_vector_form_plays_every_level_once_and_restocks() -> None:
    """Over more episodes than a stock holds: all levels differ, also between copies."""
    n = 3
    env = make_vec("clew/TinyReproduce-v0", n, k=6, v=50)
    env.reset(seed=0)
    sequences = [env._states.sequence]  # type: ignore[attr-defined]
    ended = np.zeros(n, bool)
    for _ in range(7 * 3 * STOCK):
        _, _, terminated, truncated, info = env.step(np.zeros(n, int))
        state = env._states  # type: ignore[attr-defined]
        if ended.any():
            assert (np.asarray(state.t)[ended] == 0).all()
            sequences.append(np.asarray(state.sequence)[ended])
        ended = terminated | truncated
        assert info["phase"].shape == info["_phase"].shape == (n,)
    levels = np.concatenate(sequences)
    assert len(levels) > n * 2 * STOCK
    assert len(np.unique(levels, axis=0)) == len(levels)


def test_vector_form_is_reproducible() -> None:
    """Many copies and no waiting: no array may change while a computation reads it."""

    def play() -> np.ndarray:
        env = make_vec("clew/TinyReproduce-v0", 1024)
        seen = [env.reset(seed=1)[0]]
        seen += [env.step(np.full(1024, t % 4))[0] for t in range(40)]
        return np.stack(seen)

    first = play()
    for _ in range(4):
        np.testing.assert_array_equal(play(), first)


def test_vector_form_is_seeded_and_checked() -> None:
    one, two = (make_vec("clew/TinyReproduce-v0", 16) for _ in range(2))
    np.testing.assert_array_equal(one.reset(seed=9)[0], two.reset(seed=9)[0])
    with pytest.raises(ValueError, match="shape"):
        one.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="action=4"):
        one.step(np.full(16, 4))
    with pytest.raises(ValueError, match="seed="):
        one.reset(seed=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NEXT_STEP"):
        make_vec("clew/TinyReproduce-v0", 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(gymnasium.error.ResetNeeded):
        make_vec("clew/TinyReproduce-v0", 2, render_mode="rgb_array").render()
    with pytest.raises(ValueError, match="num_envs=0"):
        make_vec("clew/TinyReproduce-v0", 0)
    frames = make_vec("clew/TinyReproduce-v0", 2, render_mode="rgb_array")
    frames.reset(seed=0)
    assert len(frames.render() or ()) == 2
