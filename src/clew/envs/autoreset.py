"""Automatic resets: when an episode ends, the next level begins.

Drawing a level can cost a hundred times a step (MysteryPath searches for a path), and under `vmap`
every step would pay for it. So the levels of a whole rollout are drawn first, all at once, and an
ended episode takes the next one. If they run out, a level is drawn on the spot, which is only
slower; where they cannot run out, nothing looks whether they do.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree, Shaped

from clew.envs.base import Environment, Step

L = TypeVar("L")
S = TypeVar("S")


class Running(NamedTuple):
    """One environment in the middle of a rollout."""

    state: PyTree
    obs: Shaped[Array, "*obs"]
    """What the agent sees now: the first observation of a new episode if the last one ended."""
    used: Int[Array, ""]
    """How many of the levels have been begun; set it to 0 when new ones are drawn."""


def lay_out(env: Environment[L, S], key: PRNGKeyArray, steps: int) -> L:
    """Draw levels for `steps` steps of one environment, stacked."""
    return jax.vmap(env.level)(jax.random.split(key, steps // env.typical_length + 1))


def begin(env: Environment[L, S], levels: L) -> Running:
    """Begin in the first of `levels`."""
    state, obs = env.start(_pick(levels, 0))
    return Running(state, obs, jnp.int32(1))


def advance(
    env: Environment[L, S], levels: L, running: Running, action: Int[Array, ""], key: PRNGKeyArray
) -> tuple[Running, Step]:
    """Take one step, and begin the next level if it ended the episode.

    The returned step is that of the old episode, its final observation included. Where `levels`
    were laid out for fewer steps than are taken, they may begin anew.
    """
    state, step = env.step(running.state, action, key)
    done = step.terminated | step.truncated
    level = _next_level(env, levels, running.used, done, key)
    fresh = env.start(level)
    state, obs = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, (state, step.obs))
    return Running(state, obs, running.used + done.astype(jnp.int32)), step


def _next_level(
    env: Environment[L, S],
    levels: L,
    used: Int[Array, ""],
    wanted: Bool[Array, ""],
    key: PRNGKeyArray,
) -> L:
    stock = jax.tree.leaves(levels)[0].shape[0]
    if env.typical_length <= env.shortest_length:  # it lasts
        return _pick(levels, used % stock)
    missing = wanted & (used >= stock)

    # A loop of at most one round, not a `cond`: vmapped, a loop runs only in the steps in which
    # some copy needs it, while a `cond` would always draw. The key changes in the loop: XLA
    # would move a draw that does not out of it, and draw in every step after all.
    def draw(
        carry: tuple[L, Bool[Array, ""], PRNGKeyArray],
    ) -> tuple[L, Bool[Array, ""], PRNGKeyArray]:
        _, _, key = carry
        key = jax.random.fold_in(key, 2**31)  # a number that no split inside `step` uses
        return env.level(key), jnp.bool_(False), key

    start = (_pick(levels, used), missing, key)
    return jax.lax.while_loop(lambda carry: carry[1], draw, start)[0]


def _pick(levels: L, index: Int[Array, ""] | int) -> L:
    return jax.tree.map(lambda leaf: leaf[index], levels)
