"""What a perfect memory is given: true, never more than was seen, and never forgotten."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.envs import Knowing, Known
from clew.envs.worlds.mystery_path.levels import Level
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.validate import BadInput

EPISODES = 24


@cache
def played(env: Knowing, steps: int) -> Any:
    """Random play from reset, [time, episode, …]: states, observations, and whether it goes on."""

    def one(key: jax.Array) -> Any:
        state, obs = env.reset(key)

        def step(carry: Any, key: jax.Array) -> Any:
            state, obs, on = carry
            # walking on is likely, so that something is found out
            likely = jnp.ones(len(env.action_names)).at[-1 if env.horizon < 200 else 2].set(3.0)
            action = jax.random.categorical(key, jnp.log(likely))
            after, result = env.step(state, action, key)
            on_after = on & ~(result.terminated | result.truncated)
            return (after, result.obs, on_after), (state, obs, on)

        carry = (state, obs, jnp.bool_(True))
        return jax.lax.scan(step, carry, jax.random.split(key, steps))[1]

    keys = jax.random.split(jax.random.key(0), EPISODES)
    return jax.device_get(jax.jit(jax.vmap(one, out_axes=1))(keys))


def knowing(name: str, **options: Any) -> Any:
    env = envs.make(name, knowledge=True, **options)
    assert isinstance(env, Knowing)
    return env


@pytest.mark.parametrize("name", envs.names())
def test_every_fact_has_a_name(name: str) -> None:
    env = knowing(name)
    knowledge = env.knowledge()
    _, obs = env.reset(jax.random.key(0))
    assert obs.knowledge.shape == (knowledge.size,)
    assert obs.knowledge.dtype == bool
    assert len(set(knowledge.names)) == knowledge.size
    assert hash(env) == hash(knowing(name))


@pytest.mark.parametrize("actions", ["egocentric", "cardinal"])
@pytest.mark.parametrize("feedback", [True, False])
def test_mystery_path_knows_what_was_tested(actions: str, feedback: bool) -> None:
    """7×7: on the path and off it as they are, each from when it was found out."""
    env = knowing("MysteryPath-Grid", actions=actions, visual_feedback=feedback)
    state, _, on = played(env, 128)
    known, truth = state.known, state.world
    path = truth.level.path
    assert not (known.on & ~path)[on].any()
    assert not (known.off & path)[on].any()
    np.testing.assert_array_equal(known.stood[on], truth.tested[on])
    np.testing.assert_array_equal(known.origin[on], truth.level.origin[on])
    if feedback:
        np.testing.assert_array_equal((known.on | known.off)[on], truth.tested[on])
    else:
        # a fall shows in the next step: the last tile may be unknown, few others are
        assert (truth.tested & ~(known.on | known.off)).sum(-1)[on].max() <= 3
    assert known.off.sum(-1)[on].max() > 3
    for facts in (known.on, known.off):
        assert not (facts[:-1] & ~facts[1:])[on[1:]].any()


@pytest.mark.parametrize("actions", ["egocentric", "cardinal"])
def test_the_map_is_centred_and_turned(actions: str) -> None:
    env = knowing("MysteryPath-Grid", size=5, actions=actions, show_goal=True)
    state, obs, _ = played(env, 64)
    for t, episode in np.ndindex(64, 4):
        one = jax.tree.map(lambda leaf, at=(t, episode): leaf[at], state)
        x, y = divmod(int(one.world.tile), 5)
        goal = np.arange(25) == one.world.level.goal
        origin = np.arange(25) == one.world.level.origin
        planes = obs.knowledge[t, episode].reshape(4, 9, 9)
        for plane, tiles in zip(planes, (one.known.on, one.known.off, origin, goal), strict=True):
            wide = np.zeros((13, 13), bool)
            wide[4:9, 4:9] = tiles.reshape(5, 5)
            around = wide[x : x + 9, y : y + 9]
            # columns are x and rows are y: facing west, what lies to the west must come to the top
            turns = 0 if actions == "cardinal" else int(one.world.heading)
            np.testing.assert_array_equal(plane, np.rot90(around, turns))


def test_facing_the_tile_that_fell() -> None:
    """By hand: from the left middle of 3×3, step off to the north; then it lies ahead."""
    env = knowing("MysteryPath-Grid", size=3)
    path = np.isin(np.arange(9), (1, 4, 7))
    state, _ = env.start(Level(jnp.asarray(path), jnp.int32(1), jnp.int32(7)))
    key = jax.random.key(0)
    state, step = env.step(state, jnp.int32(3), key)
    names = np.array(env.knowledge().names)

    def facts(obs: Known) -> set[str]:
        return set(names[np.asarray(obs.knowledge)])

    assert facts(step.obs) == {
        "off the path, +0 right and +0 ahead",
        "on the path, +0 right and -1 ahead",
        "origin, +0 right and -1 ahead",
    }
    state, _ = env.step(state, jnp.int32(0), key)
    _, step = env.step(state, jnp.int32(1), key)
    assert facts(step.obs) == {
        "off the path, +1 right and +0 ahead",
        "on the path, +0 right and +0 ahead",
        "origin, +0 right and +0 ahead",
    }


@pytest.mark.parametrize("name", ["MiniGrid-MemoryS13", "MiniGrid-MemoryS17Random"])
def test_memory_s_never_rules_out_the_truth(name: str) -> None:
    env = knowing(name)
    knowledge = env.knowledge()
    state, obs, on = played(env, 200)
    possible = state.known.possible
    assert not (possible[1:] & ~possible[:-1])[on[1:]].any()
    facts = knowledge._facts[state.world.row]  # type: ignore[attr-defined]
    assert not (facts & ~obs.knowledge)[on].any()
    # the truth is all that is left once everything was seen, and something is open at first
    assert (obs.knowledge.sum(-1) == facts.sum(-1))[on].any()
    assert (obs.knowledge.sum(-1) > facts.sum(-1))[0].all()


@pytest.mark.parametrize("order", ["reverse", "forward"])
def test_tiny_reproduce_by_hand(order: str) -> None:
    env = knowing("TinyReproduce", k=3, v=2, order=order)
    state, obs = env.start(jnp.asarray([1, 0, 0]))
    seen = [obs.knowledge]
    for action in (0, 0, 0, 0) if order == "reverse" else (0, 0, 1, 0):
        state, step = env.step(state, jnp.int32(action), jax.random.key(0))
        seen.append(step.obs.knowledge)
    shown = [
        "".join("?01"[int(a) + 2 * int(b)] for a, b in np.reshape(one, (3, 2))) for one in seen
    ]
    wanted = {
        "reverse": ["??1", "?01", "001", "01?", "1??"],
        "forward": ["1??", "10?", "100", "00?", "0??"],
    }
    assert shown == wanted[order]


def test_all_else_is_the_worlds_own() -> None:
    env, world = knowing("TinyReproduce", k=3, v=2), envs.make("TinyReproduce", k=3, v=2)
    for name in (
        "event_names", "obs_dtype", "obs_high", "rewards", "action_names", "horizon",
        "typical_length", "shortest_length", "obs_shape", "n_symbols",
    ):  # fmt: skip
        assert getattr(env, name) == getattr(world, name), name
    assert env.reward_variants() == world.reward_variants()
    np.testing.assert_array_equal(env.prices("dense"), world.prices("dense"))
    key = jax.random.key(3)
    state, obs = env.reset(key)
    plain, symbol = world.reset(key)
    np.testing.assert_array_equal(env.decode(obs), world.decode(symbol))
    assert env.explain(state) == world.explain(plain)
    np.testing.assert_array_equal(env.picture(state), world.picture(plain))
    latent, own = env.latent(), world.latent()
    assert latent is not None
    assert own is not None
    assert latent.questions == own.questions
    jax.tree.map(
        np.testing.assert_array_equal,
        latent.look(latent.start(), state),
        own.look(own.start(), plain),
    )


def test_a_world_without_knowledge_is_refused() -> None:
    class Silent(TinyReproduce):
        def knowledge(self) -> Any:
            return None

    with pytest.raises(BadInput, match="Silent does not say what a perfect memory would know"):
        Knowing(Silent())
    with pytest.raises(BadInput, match="knowledge='yes' is not valid"):
        envs.make("TinyReproduce", knowledge="yes")


def test_gymnasium() -> None:
    made = gymnasium.make("clew/TinyReproduce-v0", k=3, v=2, reward="dense", knowledge=True)
    obs, _ = made.reset(seed=0)
    assert obs in made.observation_space
    assert obs["knowledge"].sum() == 1
    obs, *_ = made.step(0)
    assert obs in made.observation_space
    assert obs["knowledge"].sum() == 2
    many = gymnasium.make_vec(
        "clew/TinyReproduce-v0", 5, "vector_entry_point", k=3, v=2, knowledge=True
    )
    obs, _ = many.reset(seed=0)
    for _ in range(8):
        assert obs in many.observation_space
        obs, *_ = many.step(np.zeros(5, np.int64))
    assert obs["observation"].shape == (5, 4)
    assert obs["knowledge"].shape == (5, 6)
