"""Endless play: when an episode ends the next level begins.

Drawing a level can cost far more than a step (MysteryPath searches for a path), and under `vmap`
every step would pay for it. So the levels of a whole stretch of steps are laid out first, all at
once, and an ended episode only picks up the next one. A stretch never runs out: no episode is
shorter than `Environment.shortest`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, Shaped

from clew.envs.base import Environment, Step


class Running(NamedTuple):
    """One environment in the middle of a stretch."""

    state: Any
    obs: Shaped[Array, "*obs"]
    """What the agent sees now: the first observation of a new episode if the last one ended."""
    used: Int[Array, ""]
    """How many levels of the stretch have been taken."""


def lay_out(env: Environment, key: PRNGKeyArray, steps: int) -> Any:
    """Draw every level that one environment can need in `steps` steps, stacked."""
    return jax.vmap(env.level)(jax.random.split(key, steps // env.shortest + 1))


def begin(env: Environment, levels: Any) -> Running:
    """Begin in the first of `levels`."""
    state, obs = env.start(_pick(levels, 0))
    return Running(state, obs, jnp.int32(1))


def advance(
    env: Environment, levels: Any, running: Running, action: Int[Array, ""], key: PRNGKeyArray
) -> tuple[Running, Step]:
    """Take one step, and begin the next level if it ended the episode.

    The returned step is that of the old episode, its final observation included.
    """
    state, step = env.step(running.state, action, key)
    fresh = env.start(_pick(levels, running.used))
    done = step.terminated | step.truncated
    state, obs = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, (state, step.obs))
    return Running(state, obs, running.used + done.astype(jnp.int32)), step


def _pick(levels: Any, index: Int[Array, ""] | int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], levels)
