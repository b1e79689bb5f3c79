"""How often an episode has visited each observation."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped, UInt32

from clew.bonuses.base import Transitions
from clew.envs.base import Environment

MOST = 4096
"""Different observations of one episode that are kept, where they are not symbols."""
WAYS = 16
FACTORS = (0x9E3779B1, 0x85EBCA77)


class Table(NamedTuple):
    """A hash table for every environment, of the 64-bit fingerprints that its episode has visited.

    An entry lies in one of two buckets, in the emptier when it came: half full, no bucket is ever
    nearly full. What another episode has left is free. Beyond `MOST` different observations, new
    ones take the places of others. Of n, two share a fingerprint with probability n² / 2⁶⁵: for
    4,096 less than once in 10¹² episodes.
    """

    entries: UInt32[Array, "env bucket way word"]
    """Both words of the fingerprint, the episode, and how often it visited that."""
    episode: UInt32[Array, " env"]
    start: UInt32[Array, "env word"]
    """Fingerprint of the episode's first observation, which has no entry for that visit."""

    @classmethod
    def empty(cls, distinct: int, envs: int) -> Table:
        """For so many different observations of an episode, twice the room."""
        buckets = 1 << max(0, -(-2 * distinct // WAYS) - 1).bit_length()
        entries = jnp.zeros((envs, buckets, WAYS, 4), jnp.uint32)
        return cls(entries, jnp.zeros(envs, jnp.uint32), jnp.zeros((envs, 2), jnp.uint32))

    def step(self, obs: Array, first: Array, next_obs: Array) -> tuple[Table, Array]:
        """Of one environment: visit `next_obs`; and how often it was visited before."""
        episode = self.episode + first
        start = jnp.where(first, obs, self.start)
        buckets = next_obs % len(self.entries)
        candidates = self.entries[buckets]
        live = candidates[..., 2] == episode
        same = live & (candidates[..., :2] == next_obs).all(-1)
        emptier = live.sum(-1).argmin()
        # the first free place; any place, if none is
        free = jnp.where(live[emptier].all(), (next_obs[0] >> 24) % WAYS, live[emptier].argmin())
        place = jnp.where(same.any(), same.argmax(), emptier * WAYS + free)
        times = jnp.where(same, candidates[..., 3], 0).max()
        entry = jnp.concatenate((next_obs, jnp.stack((episode, times + 1))))
        entries = self.entries.at[buckets[place // WAYS], place % WAYS].set(entry)
        return Table(entries, episode, start), times + (start == next_obs).all()


class Visits(NamedTuple):
    """How often the current episode of each environment has visited each observation, exactly.

    If observations are symbols, a number for each symbol; or a mark, if all that is wanted is
    whether. If they are arrays, a `Table` of their fingerprints.
    """

    marks: Shaped[Array, "env symbol"] | None
    table: Table | None

    @classmethod
    def empty(cls, env: Environment, envs: int, *, count: bool = False) -> Visits:
        """Before the first observation. Say `count` to learn how often, and not only whether."""
        if env.n_symbols is not None:
            return cls(jnp.zeros((envs, env.n_symbols), jnp.int32 if count else bool), None)
        return cls(None, Table.empty(min(env.horizon + 1, MOST), envs))

    def update(self, transitions: Transitions) -> tuple[Visits, Shaped[Array, "time env"]]:
        """After a rollout; and how often its episode had visited each next observation before."""
        obs, next_obs = transitions.obs, transitions.next_obs
        if self.table is not None:
            axes = tuple(range(2, obs.ndim))
            obs, next_obs = (fingerprint(each, axes) for each in (obs, next_obs))

        def step(visits: Visits, now: tuple[Array, Array, Array]) -> tuple[Visits, Array]:
            return jax.vmap(_step)(visits, *now)

        return jax.lax.scan(step, self, (obs, transitions.first, next_obs))


def _step(visits: Visits, obs: Array, first: Array, next_obs: Array) -> tuple[Visits, Array]:
    if visits.table is not None:
        table, before = visits.table.step(obs, first, next_obs)
        return Visits(None, table), before
    marks = visits.marks
    assert marks is not None
    symbols = jnp.arange(len(marks))
    # a new episode has visited only its first observation; to add marks is to join them
    marks = jnp.where(first, (symbols == obs).astype(marks.dtype), marks)
    return Visits(marks + (symbols == next_obs), None), marks[next_obs]


def fingerprint(obs: Shaped[Array, "*all"], axes: tuple[int, ...]) -> UInt32[Array, "*batch word"]:
    """64 bits of an array: two sums of its entries, each mixed with its place."""
    values = obs.astype(jnp.float32)
    values = jnp.where(values == 0, 0.0, values)  # −0 is the 0 that it equals
    bits = jax.lax.bitcast_convert_type(values, jnp.uint32)
    places = jnp.arange(1, bits[(0,) * (bits.ndim - len(axes))].size + 1, dtype=jnp.uint32)
    places = places.reshape(tuple(bits.shape[axis] for axis in axes))
    return jnp.stack([_mixed(bits, places, factor).sum(axes) for factor in FACTORS], -1)


def _mixed(bits: Array, places: Array, factor: int) -> Array:
    """Scramble each entry with its place, so that neither order nor sums can cancel."""
    x = (bits ^ (places * jnp.uint32(factor))) * jnp.uint32(0x2C1B3C6D)
    x = (x ^ (x >> 15)) * jnp.uint32(factor)
    return x ^ (x >> 13)
