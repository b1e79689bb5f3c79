"""A single copy in numpy against the compiled world, step by step; what else a copy must stand."""

# attributes stand where the interface has properties, as a user may write it
# pyright: reportIncompatibleMethodOverride=false, reportAssignmentType=false

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import envs
from clew.envs.gym import ClewEnv
from clew.envs.in_numpy import in_numpy
from clew.envs.knowledge import Known
from clew.envs.one_copy import OneCopy, one_copy

SMALL = {"size": 6, "max_steps": 24}  # large enough for images without a table
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "path": ("MysteryPath-Grid", SMALL),
    "path, all shown": (
        "MysteryPath-Grid",
        {"show_goal": True, "show_origin": True, "visual_feedback": False, **SMALL},
    ),
    "path, cardinal": (
        "MysteryPath-Grid",
        {"actions": "cardinal", "show_goal": True, "knowledge": True, **SMALL},
    ),
    "path, egocentric map": (
        "MysteryPath-Grid",
        {"visual_feedback": False, "knowledge": True, **SMALL},
    ),
    "corridor": ("MiniGrid-MemoryS7", {"max_steps": 30}),
    "corridor, large view": ("MiniGrid-MemoryS13", {"view": 7, "knowledge": True}),
    "corridor of any length": ("MiniGrid-MemoryS13Random", {"view": 5, "knowledge": True}),
    "tokens": ("TinyReproduce", {"k": 3, "v": 2}),
    "tokens, forward": ("TinyReproduce", {"order": "forward", "knowledge": True, "k": 4}),
}
STEPS = 30


@cache
def compiled(case: str) -> tuple[OneCopy, Any, Any]:
    """The copy, and the world's own functions: a level, and all that many actions lead to."""
    name, options = CASES[case]
    world = envs.make(name, **options)

    @jax.jit
    def played(level: Any, actions: Any) -> Any:
        def body(state: Any, action: Any) -> Any:
            after, step = world.step(state, action, jax.random.key(0))
            return after, (after, step, world.info(after))

        state, obs = world.start(level)
        return state, obs, world.info(state), jax.lax.scan(body, state, actions)[1]

    sizes = {key: value for key, value in options.items() if key in ("size", "k", "v")}
    return one_copy(world), levels(envs.make(name, **sizes)), played


@cache
def levels(world: envs.Environment) -> Any:
    return jax.jit(lambda seed: world.level(jax.random.key(seed)))


@cache
def decoder(world: envs.Environment) -> Any:
    return jax.jit(world.decode)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**31 - 1),
    turns=st.lists(st.integers(0, 999), min_size=STEPS, max_size=STEPS),
    straight=st.booleans(),
)
def test_every_step_is_the_compiled_worlds(
    case: str, seed: int, turns: list[int], straight: bool
) -> None:
    one, level, played = compiled(case)
    world = one.env
    n = len(world.action_names)
    # random play seldom gets anywhere: half of the time, mostly forward
    actions = [n // 2 if straight and turn % 4 else turn % n for turn in turns]
    drawn = jax.device_get(level(seed))
    first, obs, info, (after, steps, infos) = jax.device_get(
        played(drawn, np.array(actions, np.int32))
    )
    now = one._moment(*one._start(jax.tree.map(lambda x: x[()], drawn), np.zeros(2, np.uint32)))
    assert_same(one, now, first, obs, info)
    assert not now.events.any()
    for t, action in enumerate(actions):
        at = partial(jax.tree.map, lambda x, t=t: x[t])
        now = one.step(now.running, action)
        step = at(steps)
        assert_same(one, now, at(after), step.obs, at(infos))
        np.testing.assert_array_equal(now.events, step.events)
        assert (now.terminated, now.truncated) == (bool(step.terminated), bool(step.truncated))
        if now.terminated or now.truncated:
            assert now.info["is_success"] == bool(step.success)
            break


def assert_same(one: OneCopy, now: Any, state: Any, obs: Any, info: Any) -> None:
    for ours, theirs in zip(*map(jax.tree.leaves, (now.running.world, state)), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    seen = now.obs
    if isinstance(obs, Known):
        assert seen["knowledge"].dtype == np.int8
        np.testing.assert_array_equal(seen["knowledge"], obs.knowledge)
        obs, seen = obs.obs, seen["observation"]
    expected = np.asarray(decoder(one.env)(obs))
    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(seen, expected)
    assert now.info == one.env.plain({name: value.tolist() for name, value in info.items()})


@pytest.mark.parametrize("name", envs.names())
def test_every_world_of_ours_has_a_numpy_form(name: str) -> None:
    """Or its single copy would be slow, and nobody would see why."""
    one = OneCopy(envs.make(name))
    level, key = jax.eval_shape(one._draw, jax.ShapeDtypeStruct((), np.uint32))
    running, _ = jax.eval_shape(one._first, level, key)
    assert in_numpy(one._first, level, key) is not None
    assert in_numpy(one._next, running, jax.ShapeDtypeStruct((), np.int32)) is not None


@pytest.mark.parametrize("gym_id", ["clew/TinyReproduce-v0", "clew/MiniGrid-MemoryS13Random-v0"])
def test_the_seed_decides_the_level(gym_id: str) -> None:
    """As it always has: by the numbers that Gymnasium's generator draws, one a reset."""
    env = made(gym_id)
    numbers = np.random.Generator(np.random.PCG64(5))
    for seed in (5, None, None):
        env.reset(seed=seed)
        key = jax.random.key(int(numbers.integers(2**31)))
        state, _ = env.world.reset(jax.random.split(key)[1])
        jax.tree.map(np.testing.assert_array_equal, env.state, jax.device_get(state))


# A world without a numpy form -----------------------------------------------------------------


class Gust(NamedTuple):
    place: jax.Array
    key: jax.Array


@dataclasses.dataclass(frozen=True)
class Windy(envs.Environment):
    """Chance in every step, floating-point, arrays as observations, a key in the state."""

    event_names = ("east", "step")
    rewards = {"sparse": lambda world: {"east": 1.0}}  # noqa: RUF012
    action_names = ("wait", "walk")
    horizon = typical_length = 20
    obs_shape = (2,)
    obs_dtype = np.dtype(np.float32)
    obs_high = 1000

    def level(self, key: jax.Array) -> jax.Array:
        return jax.random.uniform(key)

    def start(self, level: jax.Array) -> tuple[Gust, jax.Array]:
        return Gust(level, jax.random.key(7)), jnp.stack((level, level * 2))

    def step(self, state: Gust, action: jax.Array, key: jax.Array) -> tuple[Gust, envs.Step]:
        wind = jax.random.uniform(key) + jax.random.uniform(state.key)
        place = state.place + wind * action
        end = place > 5
        obs = jnp.stack((place, place * 2))
        after = Gust(place, jax.random.split(state.key)[0])
        events = self.events(east=end, step=jnp.bool_(True))
        return after, envs.Step(obs, events, end, jnp.bool_(False), end)

    def info(self, state: Gust) -> dict[str, jax.Array]:
        return {"place": state.place, "is_success": state.place > 5}

    def picture(self, state: Gust) -> np.ndarray:
        return np.zeros((2, 2, 3), np.uint8)


@pytest.fixture
def windy(monkeypatch: pytest.MonkeyPatch) -> ClewEnv:
    monkeypatch.setattr("clew.envs.gym.make", lambda name: Windy())
    return ClewEnv("Windy", render_mode="rgb_array")


def test_a_world_without_a_numpy_form(windy: ClewEnv) -> None:
    check_env(windy, skip_render_check=True)

    def play() -> list[Any]:
        seen = [windy.reset(seed=3)[0]]
        return seen + [windy.step(1)[0] for _ in range(8)]

    first = play()
    np.testing.assert_array_equal(first, play())
    gusts = np.diff(np.array(first)[:, 0])
    assert len(np.unique(gusts)) == len(gusts)
    assert ((gusts > 0) & (gusts < 2)).all()
    obs, reward, *_, info = windy.step(0)
    assert info["events"] == {"east": reward, "step": 1.0}
    assert isinstance(obs, np.ndarray)
    assert info["place"] == obs[0]


# Copies and vectors ---------------------------------------------------------------------------


def made(gym_id: str, **options: Any) -> ClewEnv:
    env = gymnasium.make(gym_id, **options).unwrapped
    assert isinstance(env, ClewEnv)
    return env


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("name", ["TinyReproduce", "MiniGrid-MemoryS7"])
def test_a_copy_is_a_snapshot(name: str, duplicate: Callable[[ClewEnv], ClewEnv]) -> None:
    env = made(f"clew/{name}-v0", reward={"step": 0.5}, knowledge=True)
    early = duplicate(env)
    env.reset(seed=2)
    env.step(1)
    twin = duplicate(env)
    assert trail(twin) == trail(env)  # beyond the end: the next level too
    assert trail(twin) == trail(env)
    env.reset(seed=2)
    early.reset(seed=2)
    assert trail(early) == trail(env)


def trail(env: ClewEnv) -> list[str]:
    seen = [repr(env.step(t % 3)) for t in range(5)]
    return [*seen, repr(env.reset()), repr(env.step(0))]


def test_what_is_handed_out_is_the_callers() -> None:
    """Writing into an observation changes no table and no state."""
    for options in ({}, {"knowledge": True}):
        env = made("clew/MiniGrid-MemoryS7-v0", **options)
        env.reset(seed=1)
        untouched = [repr(env.step(t % 2)) for t in range(6)]
        env.reset(seed=1)
        for t in range(6):
            step = env.step(t % 2)
            assert repr(step) == untouched[t]
            for array in step[0].values() if isinstance(step[0], dict) else [step[0]]:
                array[...] = 1 - array


def copies(n: int) -> list[Callable[[], gymnasium.Env]]:
    return [partial(gymnasium.make, "clew:clew/TinyReproduce-v0", k=2, v=3) for _ in range(n)]


def test_gymnasiums_vectors_of_copies() -> None:
    """In this process, and in processes of their own."""
    rng = np.random.default_rng(0)
    sync, spawned = SyncVectorEnv(copies(2)), AsyncVectorEnv(copies(2), context="spawn")
    try:
        np.testing.assert_array_equal(sync.reset(seed=4)[0], spawned.reset(seed=4)[0])
        for _ in range(12):
            actions = rng.integers(3, size=2)
            one, two = sync.step(actions), spawned.step(actions)
            for a, b in pairwise((one[:4], two[:4])):
                jax.tree.map(np.testing.assert_array_equal, a, b)
    finally:
        spawned.close()


def test_a_fork_of_a_process_with_jax_is_told() -> None:
    """It would wait for ever."""
    made("clew/TinyReproduce-v0").reset(seed=0)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_reset, args=(answers,))
    with pytest.warns(RuntimeWarning, match="fork"):
        child.start()
    assert 'context="spawn"' in answers.get(timeout=300)
    child.join()


def _reset(answers: Any) -> None:
    try:
        made("clew/TinyReproduce-v0").reset(seed=0)
        answers.put("it did not refuse")
    except ValueError as error:
        answers.put(str(error))
