"""The block of "Retentive Network" (Sun et al., 2023): rotation, norm, gate, feed-forward."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear, rms
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.chunkwise import attention_by_head, decay_over, in_chunks
from clew.validate import BadInput


class RetentionState(NamedTuple):
    """A matrix a head, and how many steps it stands for, the old ones discounted."""

    sum: Float[Array, "head key value"]
    weight: Float[Array, " head"]


Projected = tuple[Array, Array, Array, Array]
"""Query, key, value, gate."""


class Retention(Recurrent[RetentionState, Projected]):
    """Multi-scale retention. Keys and queries turn with time; what counts is their difference:

        q, k, v = W_q x, W_k x / √d, W_v x
        S_t = γ_h R S_{t−1} + k_t v_tᵀ,   n_t = γ_h n_{t−1} + 1      R turns back by one step
        y = W_o (silu(W_g x) ⊙ rms(S_tᵀ q_t / √n_t))                 rms within a head

    No position is kept: the state turns instead, so that episodes may be of any length.
    """  # fmt: skip

    queries: Linear
    keys: Linear
    values: Linear
    gate: Linear
    out: Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, *, heads: int, key: PRNGKeyArray):
        self.heads = heads
        keys = jax.random.split(key, 5)
        # torchscale's gain for all but the output
        shrunk = [
            Linear(linear(k, rows, width).weight * 2**-2.5)
            for k, rows in zip(keys, (width, width, 2 * width, 2 * width), strict=False)
        ]
        self.queries, self.keys, self.values, self.gate = shrunk
        self.out = linear(keys[4], width, 2 * width)

    def initial_state(self) -> RetentionState:
        """S = 0, n = 0."""
        sizes = [len(part.weight) // self.heads for part in (self.keys, self.values)]
        dtype = self.keys.weight.dtype
        return RetentionState(jnp.zeros((self.heads, *sizes), dtype), jnp.zeros(self.heads, dtype))

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """Query, key and value of every head, and the gate."""
        parts = self.queries(x), self.keys(x), self.values(x)
        q, k, v = (part.reshape(*part.shape[:-1], self.heads, -1) for part in parts)
        return q, k * k.shape[-1] ** -0.5, v, self.gate(x)

    def step(
        self, state: RetentionState, x: Projected, reset: Reset
    ) -> tuple[RetentionState, Output]:
        """One step."""
        q, k, v, gate = x
        state = cleared(state, reset)
        decay = jnp.exp(self._log_decay)
        turned = turn_back(state.sum, self._angles)
        total = decay[:, None, None] * turned + k[:, :, None] * v[:, None, :]
        state = RetentionState(total, decay * state.weight + 1)
        read = jnp.einsum("hkv,hk->hv", state.sum, q)
        return state, self._show(gate, read, state.weight)

    def unroll(
        self, state: RetentionState, xs: Projected, resets: Resets
    ) -> tuple[RetentionState, Outputs]:
        """All steps of a chunk at once."""
        *qkv, gate = xs
        state, (read, count) = in_chunks(self._chunk, state, *qkv, resets)
        return state, self._show(gate, read, count)

    def _chunk(
        self,
        state: RetentionState,
        q: Float[Array, "time head key"],
        k: Float[Array, "time head key"],
        v: Float[Array, "time head value"],
        resets: Bool[Array, " time"],
    ) -> tuple[RetentionState, tuple[Float[Array, "time head value"], Float[Array, "time head"]]]:
        # Turn everything forward to its place in the chunk; the state before it is at place 0.
        place = jnp.arange(1, len(q) + 1, dtype=q.dtype)
        forward = -place[:, None, None] * self._angles
        q, k = (turn_back(part[..., None], forward)[..., 0] for part in (q, k))
        decays = jnp.broadcast_to(self._log_decay, (len(q), self.heads))
        total, read = attention_by_head(state.sum, q, k, v, decays, resets)
        left = jax.vmap(decay_over, in_axes=(1, None))(decays, resets)
        counts = left.between.sum(-1) + left.before * state.weight[:, None]
        after = RetentionState(turn_back(total, place[-1] * self._angles), counts[:, -1])
        return after, (read, counts.T)

    def _show(
        self,
        gate: Float[Array, "*time inner"],
        read: Float[Array, "*time head value"],
        count: Float[Array, "*time head"],
    ) -> Float[Array, "*time width"]:
        normed = rms(read * jax.lax.rsqrt(count)[..., None], 1e-6)
        return self.out(jax.nn.silu(gate) * normed.reshape(*read.shape[:-2], -1))

    @property
    def _log_decay(self) -> Float[Array, " head"]:
        return log_decay(self.heads, self.keys.weight.dtype)

    @property
    def _angles(self) -> Float[Array, " pair"]:
        """What one step turns each pair of neighbouring entries of a key by."""
        pairs = len(self.keys.weight) // self.heads // 2
        return jnp.asarray(10000 ** -np.linspace(0, 1, pairs), self.keys.weight.dtype)


class RetNetBlock(ResidualBlock[RetentionState, Projected]):
    """u = W x,  v = u + Retention(LN(u)),  y = v + FFN(LN(v))."""

    retention: Retention
    feed_norm: LayerNorm
    up: Linear
    down: Linear

    def __init__(self, in_size: int, width: int, *, heads: int, key: PRNGKeyArray):
        if width // heads % 2:
            raise BadInput(
                f"heads={heads} is not valid; width={width} must divide into heads of even size"
            )
        keys = jax.random.split(key, 4)
        super().__init__(in_size, width, bias=False, key=keys[0])
        self.feed_norm = LayerNorm(width)
        self.retention = Retention(width, heads=heads, key=keys[1])
        self.up = linear(keys[2], 2 * width, width, bias=True)
        self.down = linear(keys[3], width, 2 * width, bias=True)

    @property
    def layer(self) -> Retention:
        """Retention."""
        return self.retention

    def finish(self, u: Float[Array, "*time width"]) -> Float[Array, "*time width"]:
        """The feed-forward layer, with a residual connection of its own."""
        return u + self.down(jax.nn.gelu(self.up(self.feed_norm(u))))


def log_decay(heads: int, dtype: jnp.dtype) -> Float[Array, " head"]:
    """log γ_h,  γ_h = 1 − 2^(−5−h)."""
    return jnp.asarray(np.log1p(-(2.0 ** (-5 - np.arange(heads)))), dtype)


def turn_back(
    x: Float[Array, "*batch key value"], angle: Float[Array, "*angles pair"]
) -> Float[Array, "*batch key value"]:
    """Turn each pair of neighbouring rows back by its angle."""
    even, odd = x[..., 0::2, :], x[..., 1::2, :]
    cos, sin = jnp.cos(angle)[..., None], jnp.sin(angle)[..., None]
    turned = jnp.stack((even * cos + odd * sin, odd * cos - even * sin), -2)
    return turned.reshape(x.shape)
