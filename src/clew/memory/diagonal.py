"""Linear recurrences in which every channel keeps to itself: s_t = a_t ⊙ s_{t−1} + b_t.

On an accelerator that is an associative scan, whose rounds grow with the logarithm of the steps.
On a CPU it is a loop: there the scan's rounds copy more than they compute, and the loop, which has
nothing but this product in it, is several times faster.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from clew.memory.base import cleared


class Complex(NamedTuple):
    """Complex numbers as pairs: their gradients are plain, and any precision has them."""

    re: Float[Array, "*any"]
    im: Float[Array, "*any"]


T = TypeVar("T", Array, Complex)


def times(a: T, b: T) -> T:
    """The product, channel by channel."""
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
    return a * b  # type: ignore[operator]


def advance(decay: T, state: T, drive: T) -> T:
    """a ⊙ s + b."""
    return jax.tree.map(jnp.add, times(decay, state), drive)


def exponential(log_size: Float[Array, "*any"], phase: Float[Array, "*any"]) -> Complex:
    """exp(log_size + i phase)."""
    size = jnp.exp(log_size)
    return Complex(size * jnp.cos(phase), size * jnp.sin(phase))


def states_after(decay: T, drive: T, state: T, resets: Bool[Array, " time"]) -> T:
    """The states after every step of a chunk; `decay` and `drive` have a time axis, or `decay`
    is the same at every step."""
    decay = jax.tree.map(lambda a, b: jnp.broadcast_to(a, b.shape), decay, drive)
    run = by_loop if jax.default_backend() == "cpu" else by_associative_scan
    return run(decay, drive, state, resets)


def by_loop(decay: T, drive: T, state: T, resets: Bool[Array, " time"]) -> T:
    """One step after another."""

    def step(state: T, now: tuple[T, T, Bool[Array, ""]]) -> tuple[T, T]:
        decay, drive, reset = now
        state = advance(decay, cleared(state, reset), drive)
        return state, state

    return jax.lax.scan(step, state, (decay, drive, resets))[1]


def by_associative_scan(decay: T, drive: T, state: T, resets: Bool[Array, " time"]) -> T:
    """All steps at once. A step is (a, b), and first (a, b) then (c, d) is (c a, c b + d)."""
    decay = jax.vmap(cleared)(decay, resets)
    carried = times(jax.tree.map(lambda a: a[0], decay), state)
    drive = jax.tree.map(lambda b, s: b.at[0].add(s), drive, carried)

    def then(before: tuple[T, T], after: tuple[T, T]) -> tuple[T, T]:
        return times(after[0], before[0]), advance(after[0], before[1], after[1])

    return jax.lax.associative_scan(then, (decay, drive))[1]
