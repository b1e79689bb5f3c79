"""Which observations an episode has visited, exactly."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped, UInt32

from clew.bonuses.base import Transitions
from clew.envs.base import Environment

FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F)


class Visits(NamedTuple):
    """What the current episode of each environment has visited.

    If observations are symbols, one mark for each symbol. If they are arrays, a list of their
    128-bit fingerprints: that two observations share one is too improbable to happen.
    """

    marks: Bool[Array, "env symbol"] | None
    prints: UInt32[Array, "env time word"] | None

    @classmethod
    def empty(cls, env: Environment, envs: int) -> Visits:
        """Before the first observation."""
        if env.n_symbols is not None:
            return cls(jnp.zeros((envs, env.n_symbols), bool), None)
        return cls(None, jnp.zeros((envs, env.horizon + 1, len(FACTORS)), jnp.uint32))

    def update(self, transitions: Transitions) -> tuple[Visits, Bool[Array, "time env"]]:
        """After a rollout; and whether each next observation was new to its episode."""
        obs, next_obs = transitions.obs, transitions.next_obs
        if self.prints is not None:
            axes = tuple(range(2, obs.ndim))
            obs, next_obs = (fingerprint(each, axes) for each in (obs, next_obs))

        def step(visits: Visits, now: tuple[Array, Array, Array]) -> tuple[Visits, Array]:
            return jax.vmap(_step)(visits, *now)

        return jax.lax.scan(step, self, (obs, transitions.first, next_obs))


def _step(visits: Visits, obs: Array, first: Array, next_obs: Array) -> tuple[Visits, Array]:
    # a new episode has visited only its first observation
    if visits.marks is not None:
        symbols = jnp.arange(len(visits.marks))
        marks = jnp.where(first, symbols == obs, visits.marks)
        return Visits(marks | (symbols == next_obs), None), ~marks[next_obs]
    prints = visits.prints
    assert prints is not None
    prints = jnp.where(first, jnp.zeros_like(prints).at[0].set(obs), prints)
    new = ~(prints == next_obs).all(-1).any()
    # no fingerprint is all zero: the first row of zeros is the first empty place
    place = jnp.argmax((prints == 0).all(-1))
    return Visits(None, prints.at[place].set(jnp.where(new, next_obs, prints[place]))), new


def fingerprint(obs: Shaped[Array, "*all"], axes: tuple[int, ...]) -> UInt32[Array, "*batch word"]:
    """128 bits of an array: four sums of its entries, each mixed with its place."""
    values = obs.astype(jnp.float32)
    values = jnp.where(values == 0, 0.0, values)  # −0 is the 0 that it equals
    bits = jax.lax.bitcast_convert_type(values, jnp.uint32)
    places = jnp.arange(1, bits[(0,) * (bits.ndim - len(axes))].size + 1, dtype=jnp.uint32)
    places = places.reshape(tuple(bits.shape[axis] for axis in axes))
    return jnp.stack([_mixed(bits, places, factor).sum(axes) | 1 for factor in FACTORS], -1)


def _mixed(bits: Array, places: Array, factor: int) -> Array:
    """Scramble each entry with its place, so that neither order nor sums can cancel."""
    x = (bits ^ (places * jnp.uint32(factor))) * jnp.uint32(0x2C1B3C6D)
    x = (x ^ (x >> 15)) * jnp.uint32(factor)
    return x ^ (x >> 13)
