"""Latents, beside a slow recomputation from whole trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import envs
from clew.envs import Environment

STEPS = 40
WORLDS = {
    "path": envs.make("MysteryPath-Grid", size=4, actions="cardinal"),
    "corridor": envs.make("MiniGrid-MemoryS7"),
    "reverse": envs.make("TinyReproduce", k=4, v=3),
    "forward": envs.make("TinyReproduce", k=4, v=2, order="forward"),
}

ACTIONS = st.lists(st.integers(0, 3), min_size=STEPS, max_size=STEPS)

Row = tuple[int, int, bool, int]
"""Step, question, answer, since."""


@partial(jax.jit, static_argnums=0)
def walk(env: Environment, seed: Any, actions: Any) -> Any:
    """Every state before an action, what is asked there, and whether the episode still runs."""
    latent = env.latent()
    assert latent is not None

    def step(now: Any, action: Any) -> Any:
        state, known, alive = now
        known, asked = latent.look(known, state)
        after, result = env.step(state, action, jax.random.key(0))
        ended = result.terminated | result.truncated
        return (after, known, alive & ~ended), (state, asked, alive)

    state, _ = env.reset(jax.random.key(seed))
    return jax.lax.scan(step, (state, latent.start(), jnp.bool_(True)), actions)[1]


def by_hand(env: Environment, infos: list[dict[str, Any]]) -> Iterator[Row]:
    """The definitions in the latents' docstrings, read as a person would."""
    kind = type(env).__name__
    for t, info in enumerate(infos):
        if kind == "MysteryPath":
            for at, (dx, dy) in enumerate(((0, -1), (-1, 0), (0, 1), (1, 0))):
                place = info["x"] + dx, info["y"] + dy
                stood = [u for u in range(t + 1) if (infos[u]["x"], infos[u]["y"]) == place]
                if stood:
                    yield t, at, info["path"][place[0]][place[1]], t - stood[-1]
        elif kind == "MemoryS":
            seen = [u for u in range(t + 1) if infos[u]["cue_visible"]]
            if seen and seen[-1] < t:
                yield t, 0, bool(info["cue"]), t - seen[-1]
        else:
            yield from _tokens(env, t, info)


def _tokens(env: Any, t: int, info: dict[str, Any]) -> Iterator[Row]:
    tokens = range(env.v) if env.v > 2 else [1]
    order = range(env.k)[::-1] if env.order == "reverse" else range(env.k)
    to_play = list(order)[info["n_correct"] :]
    for place in range(min(t, env.k)):
        if place in to_play:
            lag = t - place
            for i, token in enumerate(tokens):
                yield t, (lag - 1) * len(tokens) + i, info["sequence"][place] == token, lag


@cache
def explainer(env: Environment) -> Any:
    return jax.jit(jax.vmap(env.info))


@pytest.mark.parametrize("world", WORLDS)
@given(seed=st.integers(0, 2**16), actions=ACTIONS)
def test_latents_are_what_their_words_say(world: str, seed: int, actions: list[int]) -> None:
    env = WORLDS[world]
    chosen = jnp.asarray(actions, jnp.int32) % len(env.action_names)
    states, asked, alive = jax.device_get(walk(env, seed, chosen))
    n = int(alive.sum())
    info = jax.device_get(explainer(env)(states))
    if "reverse" in world or "forward" in world:
        info["sequence"] = states.sequence
    infos = [{name: value[t].tolist() for name, value in info.items()} for t in range(n)]
    got = {
        (t, q, bool(asked.answer[t, q]), int(asked.since[t, q]))
        for t, q in zip(*np.nonzero(asked.asked[:n]), strict=True)
    }
    assert got == set(by_hand(env, infos))
    if world == "path":
        # the world's own record of where the agent has stood
        beside = sum(bool(i["tested"][x][y]) for i in infos for x, y in _beside(i, env))
        assert beside == len(got)


def _beside(info: dict[str, Any], env: Any) -> list[tuple[int, int]]:
    x, y = info["x"], info["y"]
    near = [(x, y - 1), (x - 1, y), (x, y + 1), (x + 1, y)]
    return [p for p in near if min(p) >= 0 and max(p) < env.size]


def test_every_world_of_the_study_has_a_latent() -> None:
    for name in ("MysteryPath-Grid", "MiniGrid-MemoryS13", "TinyReproduce"):
        latent = envs.make(name).latent()
        assert latent is not None
        assert hash(latent) == hash(envs.make(name).latent())
        assert len(set(latent.questions)) == len(latent.questions)


def test_a_world_that_nobody_asks_about_has_none() -> None:
    class Strange(type(WORLDS["path"])):
        latent = Environment.latent

    assert Strange().latent() is None  # type: ignore[abstract]


def test_long_sequences_are_asked_about_in_part() -> None:
    latent = envs.make("TinyReproduce", k=1000, v=1000).latent()
    assert latent is not None
    assert len(latent.questions) <= 32 * 8
    assert "shown 1998 steps ago" in latent.questions[-1]
