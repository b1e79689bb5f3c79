"""Recurrences over a chunk of time in parallel form, aware of resets inside the chunk.

Both follow one scheme. Let D_ij be the decay from step j to step i: the product of the decays in
between, or 0 if a reset lies in between. A chunk's outputs are then a lower-triangular matrix
product, plus what is left of the state before the chunk; the cost is quadratic in the chunk and
linear in time. Long sequences are cut into chunks that hand the state on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

S = TypeVar("S")
Y = TypeVar("Y")

CHUNK = 64


class Decay(NamedTuple):
    """How much of one step is left at another."""

    between: Float[Array, "time time"]
    """D_ij for j ≤ i, else 0."""
    before: Float[Array, " time"]
    """What is left of the state before the chunk."""


def decay_over(log_decay: Float[Array, " time"], resets: Bool[Array, " time"]) -> Decay:
    """Decays over a chunk. Masks come before the exponential, which could overflow otherwise."""
    total = jnp.cumsum(log_decay)
    episode = jnp.cumsum(resets)
    time = jnp.arange(len(resets))
    same = (episode[:, None] == episode[None, :]) & (time[:, None] >= time[None, :])
    between = jnp.exp(jnp.where(same, total[:, None] - total[None, :], -jnp.inf))
    return Decay(between, jnp.exp(jnp.where(episode == 0, total, -jnp.inf)))


def linear_attention(
    state: Float[Array, "key value"],
    q: Float[Array, "time key"],
    k: Float[Array, "time key"],
    v: Float[Array, "time value"],
    log_decay: Float[Array, " time"],
    resets: Bool[Array, " time"],
) -> tuple[Float[Array, "key value"], Float[Array, "time value"]]:
    """S_t = a_t S_{t−1} + k_t v_tᵀ,  y_t = S_tᵀ q_t,  for one chunk."""
    return _attend(state, q, k, v, decay_over(log_decay, resets))


attention_by_head = jax.vmap(linear_attention, (0, 1, 1, 1, 1, None), (0, 1))
"""The same with heads: first in the state, after time in all else."""


def gated_delta_rule(
    state: Float[Array, "key value"],
    q: Float[Array, "time key"],
    k: Float[Array, "time key"],
    v: Float[Array, "time value"],
    log_decay: Float[Array, " time"],
    beta: Float[Array, " time"],
    resets: Bool[Array, " time"],
) -> tuple[Float[Array, "key value"], Float[Array, "time value"]]:
    """M_t = a_t (I − β_t k_t k_tᵀ) M_{t−1} + β_t k_t v_tᵀ,  y_t = M_tᵀ q_t,  for one chunk.

    With u_t = β_t (v_t − a_t M_{t−1}ᵀ k_t) it reads M_t = a_t M_{t−1} + k_t u_tᵀ, a decaying sum,
    and the u of a chunk solve a unit lower-triangular system.
    """
    decay = decay_over(log_decay, resets)
    overlap = jnp.tril(k @ k.T * decay.between, -1)
    inverse = unit_lower_inverse(beta[:, None] * overlap)
    u = inverse @ (beta[:, None] * (v - decay.before[:, None] * (k @ state)))
    return _attend(state, q, k, u, decay)


def _attend(
    state: Float[Array, "key value"],
    q: Float[Array, "time key"],
    k: Float[Array, "time key"],
    v: Float[Array, "time value"],
    decay: Decay,
) -> tuple[Float[Array, "key value"], Float[Array, "time value"]]:
    y = ((q @ k.T) * decay.between) @ v + decay.before[:, None] * (q @ state)
    state = decay.before[-1] * state + (k * decay.between[-1][:, None]).T @ v
    return state, y


def unit_lower_inverse(lower: Float[Array, "size size"]) -> Float[Array, "size size"]:
    """(I + L)⁻¹ for strictly lower-triangular L, by inverting blocks of twice the size each time.

    Summing powers of L instead would be shorter, and wrong by orders of magnitude when keys
    repeat, as they do whenever an observation does.
    """
    size = lower.shape[0]
    full = 1 << (size - 1).bit_length()
    lower = jnp.pad(lower, (0, full - size))
    blocks = jnp.ones((full, 1, 1), lower.dtype)
    while len(blocks) > 1:
        pairs, half = len(blocks) // 2, blocks.shape[1]
        upper_left, lower_right = blocks[0::2], blocks[1::2]
        at = jnp.arange(pairs)
        corner = lower.reshape(pairs, 2 * half, pairs, 2 * half)[at, half:, at, :half]
        lower_left = -lower_right @ corner @ upper_left
        top = jnp.concatenate([upper_left, jnp.zeros_like(upper_left)], 2)
        bottom = jnp.concatenate([lower_left, lower_right], 2)
        blocks = jnp.concatenate([top, bottom], 1)
    return blocks[0, :size, :size]


def in_chunks(
    one_chunk: Callable[..., tuple[S, Y]], state: S, *inputs: PyTree[Float[Array, "time ..."]]
) -> tuple[S, Y]:
    """Run `one_chunk(state, *inputs)` over as many chunks as the inputs' leading axis needs."""
    steps = jax.tree.leaves(inputs)[0].shape[0]
    if steps <= CHUNK:
        return one_chunk(state, *inputs)
    whole = steps // CHUNK * CHUNK
    split = jax.tree.map(lambda x: x[:whole].reshape(-1, CHUNK, *x.shape[1:]), inputs)
    state, ys = jax.lax.scan(lambda carry, chunk: one_chunk(carry, *chunk), state, split)
    ys = jax.tree.map(lambda y: y.reshape(whole, *y.shape[2:]), ys)
    if whole == steps:
        return state, ys
    state, rest = one_chunk(state, *jax.tree.map(lambda x: x[whole:], inputs))
    return state, jax.tree.map(lambda y, z: jnp.concatenate([y, z]), ys, rest)
