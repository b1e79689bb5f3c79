"""What must hold in every world."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, Shaped

from clew import envs
from clew.envs import Asked, Environment, Knowing, Running, Step
from clew.testing.asserting import require, require_alike, require_array, require_equal

COPIES = 3


def check_world(env: str | Environment) -> None:
    """Raise an AssertionError for the first law that the world, or that of this name, breaks."""
    world = envs.make(env) if isinstance(env, str) else env
    for law in WORLD_LAWS:
        law(world)


def shapes_and_types(env: Environment) -> None:
    """Of what a step returns; the state and the observation keep theirs from step to step."""
    key, action = jax.random.key(0), jnp.int32(0)
    state, obs = jax.eval_shape(env.reset, key)
    after, step = jax.eval_shape(env.step, state, action, key)
    require_array("Step.events", step.events, (len(env.event_names),), jnp.float32)
    for name in ("terminated", "truncated", "success"):
        require_array(f"Step.{name}", getattr(step, name), (), bool)
    require_array("Step.obs", step.obs, obs.shape, obs.dtype)
    require_alike("the state", after, state)
    decoded = jax.eval_shape(lambda obs: jax.vmap(env.decode)(obs[None]), obs)
    require_array("decoded observations", decoded, (1, *env.obs_shape), env.obs_dtype)


def observations_stay_in_range(env: Environment) -> None:
    """Entries lie in [0, obs_high], and no two symbols stand for the same observation."""
    table = env.alphabet
    if table is None:
        table = np.asarray(env.decode(jnp.asarray(_played(env)[0].obs)))
    else:
        require(env.n_symbols == len(table), "n_symbols must be the length of the alphabet")
        require_array("alphabet", table, (len(table), *env.obs_shape), env.obs_dtype)
        distinct = len(np.unique(table.reshape(len(table), -1), axis=0))
        require(distinct == len(table), "two symbols of the alphabet stand for one observation")
    span = f"[{table.min()}, {table.max()}]"
    inside = table.min() >= 0 and table.max() <= env.obs_high
    require(inside, f"observations lie in {span}, and must in [0, obs_high={env.obs_high}]")


def tiles_make_every_image(env: Environment) -> None:
    """If images are laid out from tiles, each is the sum of its parts. (Some are looked at.)"""
    if (tiles := env.tiles) is None:
        return
    require(not tiles.pictures[0].any(), "the first of the tiles' pictures must be blank: zeros")
    rows, symbols = len(tiles.shown), env.n_symbols
    require(rows == symbols, f"tiles.shown has {rows} rows, and must have one for each symbol")
    some = np.random.default_rng(0).permutation(rows)[:500]
    parts = np.stack([tiles.draw(part[:, None]) for part in tiles.shown[some].T])
    same = np.array_equal(parts.sum(0), env.decode(jnp.asarray(some)))
    require(same, "an image is not the sum of its parts in tiles.shown, each on a tile of its own")


def the_same_key_gives_the_same_episode(env: Environment) -> None:
    """Whatever is computed beside it."""
    keys = jax.random.split(jax.random.key(0), COPIES)
    again = _stretch(env)(keys)
    require_equal(again, _played(env), "the same keys gave another episode")
    turned = _stretch(env)(keys[::-1])[1].obs[::-1]
    require_equal(turned, again[1].obs, "an episode depends on those beside it")


def episodes_are_as_long_as_said(env: Environment) -> None:
    """A learner's and an evaluation's lengths rest on it, and how many levels are drawn."""
    within = 1 <= env.shortest_length <= env.horizon
    require(within, f"shortest_length {env.shortest_length} must be 1 to the horizon {env.horizon}")
    _, step, _ = _played(env)
    for ended in step.terminated | step.truncated:
        places = np.flatnonzero(ended)
        require(len(places), f"no episode ended in {_steps(env)} steps, with horizon {env.horizon}")
        lengths = np.diff(places, prepend=-1)
        for name, took, fits in (
            ("horizon", lengths.max(), lengths.max() <= env.horizon),
            ("shortest_length", lengths.min(), lengths.min() >= env.shortest_length),
        ):
            require(fits, f"an episode took {took} steps, with {name} {getattr(env, name)}")


def the_next_episode_begins_after_an_end(env: Environment) -> None:
    """Not before it, and with the first observation of its own level."""
    running, step, first = _played(env)
    ended = (step.terminated | step.truncated)[:, :-1]
    require_equal(np.diff(running.used, axis=1), ended, "a level was begun without an end")
    require_equal(
        running.obs[:, 1:][~ended], step.obs[:, :-1][~ended], "an observation is not the step's"
    )
    for copy, t in np.argwhere(ended):
        level = running.used[copy, t + 1] - 1
        if level < first.shape[1]:
            begun = running.obs[copy, t + 1]
            require_equal(begun, first[copy, level], "an episode begins with another observation")


def rewards_are_events_priced(env: Environment) -> None:
    """Every variant prices events that there are."""
    _, step, _ = _played(env)
    require(env.reward_variants(), "a world has at least one reward variant")
    for name, variant in env.reward_variants().items():
        rewards = np.asarray(envs.priced(env.prices(name), jnp.asarray(step.events)))
        slow = sum(
            price * step.events[..., env.event_names.index(event)]
            for event, price in variant.items()
        )
        np.testing.assert_allclose(rewards, slow, atol=1e-6, err_msg=f"the reward {name!r}")


def people_can_look_at_it(env: Environment) -> None:
    """`info` in plain Python, with is_success; `picture` as RGB, with something on it."""
    state, _ = env.reset(jax.random.key(0))
    success = env.explain(state).get("is_success")
    require(success is False, f"info's is_success must be False at the start, and is {success}")
    picture = env.picture(state)
    require_array("picture", picture, (*picture.shape[:2], 3), np.uint8)
    require(len(np.unique(picture.reshape(-1, 3), axis=0)) > 1, "picture has a single colour")


def it_is_a_value(env: Environment) -> None:
    """Equal options make equal worlds, which can be static arguments of compiled programs."""
    again = dataclasses.replace(env)
    require(again == env and hash(again) == hash(env), "equal options must make equal worlds")


def latent_and_knowledge_go_along(env: Environment) -> None:
    """What probes ask and what a perfect memory knows, where there are such: in a compiled loop."""
    keys, shape = jax.random.split(jax.random.key(0), COPIES), (COPIES, _steps(env))
    if (latent := env.latent()) is not None:
        n = len(latent.questions)
        require(n and len(set(latent.questions)) == n, "a latent's questions must differ")
        require(hash(env.latent()) == hash(latent), "equal worlds must have equal latents")

        def look_at_all(states: PyTree[Array]) -> Asked:
            return jax.lax.scan(latent.look, latent.start(), states)[1]

        states = jax.eval_shape(_stretch(env), keys)[0].state
        asked = jax.eval_shape(jax.vmap(look_at_all), states)
        for name, dtype in (("asked", bool), ("answer", bool), ("since", jnp.int32)):
            require_array(f"Asked.{name}", getattr(asked, name), (*shape, n), dtype)
    if (knowledge := env.knowledge()) is not None:
        n = knowledge.size
        require(n and len(set(knowledge.names)) == n, "knowledge's names must differ")
        require(hash(env.knowledge()) == hash(knowledge), "equal worlds must have equal knowledge")
        known = jax.eval_shape(_stretch(Knowing(env)), keys)[0].obs
        require_array("knowledge", known.knowledge, (*shape, n), bool)


WORLD_LAWS: tuple[Callable[[Environment], None], ...] = (
    shapes_and_types,
    observations_stay_in_range,
    tiles_make_every_image,
    the_same_key_gives_the_same_episode,
    episodes_are_as_long_as_said,
    the_next_episode_begins_after_an_end,
    rewards_are_events_priced,
    people_can_look_at_it,
    it_is_a_value,
    latent_and_knowledge_go_along,
)


def _steps(env: Environment) -> int:
    """Long enough to hold an end."""
    return env.horizon + max(env.horizon // 2, 1)


Played = tuple[Running, Step, Shaped[Array, "copy level *obs"]]
"""What was seen before every step, the steps, and the first observations of all levels."""


@cache
def _stretch(env: Environment) -> Callable[[PRNGKeyArray], Played]:
    """A compiled stretch of random play, for several copies."""
    steps = _steps(env)

    def one(key: PRNGKeyArray) -> Played:
        level_key, action_key = jax.random.split(key)
        levels = envs.lay_out(env, level_key, steps)
        actions = jax.random.randint(action_key, (steps,), 0, len(env.action_names))

        def body(
            running: Running, now: tuple[Int[Array, ""], PRNGKeyArray]
        ) -> tuple[Running, tuple[Running, Step]]:
            after, step = envs.advance(env, levels, running, *now)
            return after, (running, step)

        first = jax.vmap(lambda level: env.start(level)[1])(levels)
        keys = jax.random.split(key, steps)
        return *jax.lax.scan(body, envs.begin(env, levels), (actions, keys))[1], first

    return jax.jit(jax.vmap(one))


@cache
def _played(env: Environment) -> Played:
    return jax.device_get(_stretch(env)(jax.random.split(jax.random.key(0), COPIES)))
