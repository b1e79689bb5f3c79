"""Whole episodes of the uniformly random policy: the baseline of every world."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from clew.envs.base import Environment
from clew.validate import whole_number


class Episodes(NamedTuple):
    """One entry an episode."""

    success: Bool[Array, " episode"]
    length: Int[Array, " episode"]
    events: Float[Array, "episode event"]
    """Totals over the episode."""


@partial(jax.jit, static_argnames=("env", "n"))
def random_episodes(env: Environment, key: PRNGKeyArray, n: int) -> Episodes:
    """Play `n` episodes with uniformly random actions, each from reset to its end."""
    whole_number("n", n, 1)
    return jax.vmap(partial(_play, env))(jax.random.split(key, n))


def _play(env: Environment, key: PRNGKeyArray) -> Episodes:
    reset_key, action_key, step_key = jax.random.split(key, 3)
    n_actions = len(env.action_names)
    actions = jax.random.randint(action_key, (env.horizon,), 0, n_actions)
    step_keys = jax.random.split(step_key, env.horizon)

    def body(
        carry: tuple[PyTree, Episodes, Bool[Array, ""]], xs: tuple[Int[Array, ""], PRNGKeyArray]
    ) -> tuple[tuple[PyTree, Episodes, Bool[Array, ""]], None]:
        state, so_far, running = carry
        state, step = env.step(state, *xs)
        so_far = Episodes(
            success=so_far.success | (running & step.success),
            length=so_far.length + running.astype(jnp.int32),
            events=so_far.events + running * step.events,
        )
        return (state, so_far, running & ~(step.terminated | step.truncated)), None

    nothing = Episodes(jnp.bool_(False), jnp.int32(0), jnp.zeros(len(env.event_names), jnp.float32))
    start = (env.reset(reset_key)[0], nothing, jnp.bool_(True))
    (_, episode, _), _ = jax.lax.scan(body, start, (actions, step_keys))
    return episode
