"""Which observations an episode has seen, exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped, UInt32

from clew.bonuses.base import Transitions
from clew.envs.base import Environment

FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F)


class Visits(NamedTuple):
    """What the episode running in each environment has seen.

    With symbols, one mark a symbol. Without, a list of fingerprints of 128 bits: two different
    observations share one with a probability that no study will meet.
    """

    marks: Bool[Array, "env symbol"] | None
    prints: UInt32[Array, "env time word"] | None

    @classmethod
    def none(cls, env: Environment, envs: int) -> Visits:
        """Nothing seen yet."""
        if env.n_symbols is not None:
            return cls(jnp.zeros((envs, env.n_symbols), bool), None)
        return cls(None, jnp.zeros((envs, env.horizon + 1, len(FACTORS)), jnp.uint32))

    def through(self, seen: Transitions) -> tuple[Visits, Bool[Array, "time env"]]:
        """Go through a rollout: for every next observation, whether it is new to its episode."""
        obs, next_obs = seen.obs, seen.next_obs
        if self.prints is not None:
            axes = tuple(range(2, obs.ndim))
            obs, next_obs = (fingerprint(each, axes) for each in (obs, next_obs))

        def advance(visits: Visits, now: Any) -> tuple[Visits, Array]:
            return jax.vmap(_advance)(visits, *now)

        return jax.lax.scan(advance, self, (obs, seen.first, next_obs))


def _advance(visits: Visits, obs: Array, first: Array, next_obs: Array) -> tuple[Visits, Array]:
    # beginning an episode clears everything but its first observation
    if visits.marks is not None:
        symbols = jnp.arange(len(visits.marks))
        marks = jnp.where(first, symbols == obs, visits.marks)
        return Visits(marks | (symbols == next_obs), None), ~marks[next_obs]
    prints = visits.prints
    assert prints is not None
    alone = jnp.zeros_like(prints).at[0].set(obs)
    prints = jnp.where(first, alone, prints)
    new = ~(prints == next_obs).all(-1).any()
    # fingerprints are never all zero, so that the first empty place is the first zero
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
