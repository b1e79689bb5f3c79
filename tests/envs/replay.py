"""Replays an original's trace in our world and says where they first differ."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clew.envs import Environment, make
from clew.envs.worlds.memory_s.layout import KEY
from clew.envs.worlds.memory_s.tables import Tables
from clew.envs.worlds.memory_s.world import MemoryS
from clew.envs.worlds.mystery_path.levels import Level
from tests.oracles.traces import Trace, digest


def check(trace: Trace) -> None:
    """Assert that our world does, step by step, what the original did."""
    env = make(trace.case.world, **trace.case.options)
    symbols, steps, states = _replay(env, _levels(env, trace), jnp.asarray(trace.actions))
    rewards = np.asarray(steps.events, np.float64) @ _exact(env, trace.case.prices)
    known = np.asarray(_digests(env, np.asarray(symbols)))
    within = np.arange(trace.actions.shape[1]) < trace.length[:, None]
    seen = np.pad(within, ((0, 0), (1, 0)), constant_values=True)
    _same("obs", known, trace.obs, seen)
    for flag in ("terminated", "truncated", "success"):
        _same(flag, np.asarray(getattr(steps, flag)), getattr(trace, flag), within)
    close = np.abs(rewards - trace.reward) < 1e-6
    _same("reward", close, np.ones_like(close), within)
    _same("revisit", _entering(env, steps.events), _revisits(trace.places), within)
    if "falls" in states:
        grid = np.asarray(states["tested"]).reshape(*trace.actions.shape, -1)
        _same("tested", grid.sum(-1), _distinct(trace.places), within)
        last = np.asarray(states["falls"])[np.arange(len(trace.length)), trace.length - 1]
        np.testing.assert_array_equal(last, trace.falls)


@partial(jax.jit, static_argnames="env")
def _replay(env: Environment, levels: Any, actions: Any) -> Any:
    def episode(level: Any, actions: Any) -> Any:
        def body(state: Any, action: Any) -> Any:
            state, step = env.step(state, action.astype(jnp.int32), jax.random.key(0))
            return state, (
                step,
                {k: v for k, v in env.info(state).items() if k in ("falls", "tested")},
            )

        state, first = env.start(level)
        _, (steps, info) = jax.lax.scan(body, state, actions)
        return jnp.concatenate([first[None], steps.obs]), steps, info

    return jax.vmap(episode)(levels, actions)


def _levels(env: Environment, trace: Trace) -> Any:
    rows = trace.levels
    if not isinstance(env, MemoryS):
        ends = {name: jnp.asarray(rows[name], jnp.int32) for name in ("origin", "goal")}
        return Level(path=jnp.asarray(rows["path"]), **ends)
    starts = [
        _start_state(env.tables, int(end), int(x), KEY + int(cue), KEY + int(upper))
        for end, x, cue, upper in zip(
            rows["hallway_end"], rows["x"], rows["cue"], rows["upper"], strict=True
        )
    ]
    return jnp.asarray(starts, jnp.int32)


def _start_state(tables: Tables, hallway_end: int, x: int, cue: int, upper: int) -> int:
    """The state in which an episode of this layout begins at x."""
    wanted = (hallway_end, cue, upper)
    layout = [(one.hallway_end, one.cue, one.upper) for one in tables.layouts].index(wanted)
    y = len(tables.layouts[layout].grid) // 2
    here = (tables.layout == layout) & (tables.pose == (x, y, 0)).all(1)
    return int(np.flatnonzero(here)[0])


def _digests(env: Environment, symbols: np.ndarray) -> np.ndarray:
    distinct, where = np.unique(symbols, return_inverse=True)
    drawn = [np.asarray(env.decode(jnp.asarray(part))) for part in np.array_split(distinct, 64)]
    images = [image for part in drawn for image in part]
    assert all(image.dtype == env.obs_dtype and image.shape == env.obs_shape for image in images)
    return np.array([digest(image) for image in images], np.uint64)[where].reshape(symbols.shape)


def _exact(env: Environment, prices: dict[str, float]) -> np.ndarray:
    return np.array([prices.get(name, 0.0) for name in env.event_names])


def _entering(env: Environment, events: Any) -> np.ndarray:
    counted = [i for i, name in enumerate(env.event_names) if name in ("revisit", "returned")]
    return np.asarray(events)[..., counted].sum(-1) > 0


def _revisits(places: np.ndarray) -> np.ndarray:
    """The slow way: entering a place where the agent has been before in this episode."""
    entered = np.zeros((len(places), places.shape[1] - 1), bool)
    for episode, row in enumerate(places.tolist()):
        been = {row[0]}
        for t, (before, here) in enumerate(pairwise(row)):
            entered[episode, t] = here != before and here in been
            been.add(here)
    return entered


def _distinct(places: np.ndarray) -> np.ndarray:
    """How many places an episode has shown so far."""
    rows = [[len(set(row[: t + 2])) for t in range(len(row) - 1)] for row in places.tolist()]
    return np.array(rows)


def _same(what: str, ours: np.ndarray, theirs: np.ndarray, where: np.ndarray) -> None:
    differ = np.argwhere((ours != theirs) & where)
    assert len(differ) == 0, (
        f"{what}: {len(differ)} of {where.sum()} differ, first at (episode, step) {differ[0]}"
    )
