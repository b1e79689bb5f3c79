"""The block of "Gated Delta Networks" (Yang et al., 2024): convolutions and an output gate."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, decay_rates, linear, rms, unit
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.chunkwise import gated_delta_rule, in_chunks
from clew.memory.convolution import ShortConvolution, Window


class DeltaState(NamedTuple):
    """The convolution's window and a matrix a head."""

    window: Window
    memory: Float[Array, "head key value"]


Projected = tuple[Array, tuple[Array, Array], Array]
"""qkv before the convolution; log α and β; z."""


class GatedDelta(Recurrent[DeltaState, Projected]):
    """The layer without what surrounds it:

        q, k, v = silu(conv(W x)),   q, k ← q / |q| / √d, k / |k|
        β = σ(W_β x),   α = exp(−exp(A_log) softplus(W_α x + b))
        M_t = α (I − β k kᵀ) M_{t−1} + β k vᵀ
        y = W_o (g ⊙ rms(M_tᵀ q) ⊙ silu(W_z x))          normalise within a head, then gate
    """  # fmt: skip

    qkv: Linear
    """Rows: queries, keys, values, each head after head."""
    convolution: ShortConvolution
    gates: Linear
    """Rows: β, then α, one a head."""
    dt_bias: Float[Array, " head"]
    log_rate: Float[Array, " head"]
    """A_log."""
    z: Linear
    gain: Float[Array, " value"]
    out: Linear
    heads: int = eqx.field(static=True)
    key_size: int = eqx.field(static=True)

    def __init__(self, width: int, *, heads: int, head_size: int, key: PRNGKeyArray):
        self.heads, self.key_size = heads, head_size
        inner = heads * head_size
        keys = jax.random.split(key, 6)
        self.qkv = linear(keys[0], 3 * inner, width)
        self.convolution = ShortConvolution(3 * inner, bias=False, key=keys[1])
        self.gates = linear(keys[2], 2 * heads, width)
        self.log_rate, self.dt_bias = decay_rates(keys[3], heads)
        self.z = linear(keys[4], inner, width)
        self.gain = jnp.ones(head_size)
        self.out = linear(keys[5], width, inner)

    def initial_state(self) -> DeltaState:
        """Nothing seen, nothing stored."""
        shape = (self.heads, self.key_size, len(self.gain))
        return DeltaState(self.convolution.initial_window(), jnp.zeros(shape, self.gain.dtype))

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """What comes before the convolution, the rates, and the gate."""
        return self.qkv(x), self._rates(x), self.z(x)

    def step(self, state: DeltaState, x: Projected, reset: Reset) -> tuple[DeltaState, Output]:
        """One step."""
        state = cleared(state, reset)
        qkv, (log_alpha, beta), z = x
        window, filtered = self.convolution.unroll(state.window, qkv[None], jnp.zeros(1, bool))
        q, k, v = (part[0] for part in self._divide(filtered))
        kept = jnp.exp(log_alpha)[:, None, None] * state.memory
        error = v - jnp.einsum("hkv,hk->hv", kept, k)
        memory = kept + (beta[:, None] * k)[:, :, None] * error[:, None, :]
        read = jnp.einsum("hkv,hk->hv", memory, q)
        return DeltaState(window, memory), self._show(z, read)

    def unroll(
        self, state: DeltaState, xs: Projected, resets: Resets
    ) -> tuple[DeltaState, Outputs]:
        """All steps of a chunk at once."""
        qkv, rates, z = xs
        window, filtered = self.convolution.unroll(state.window, qkv, resets)
        each = jax.vmap(gated_delta_rule, in_axes=(0, 1, 1, 1, 1, 1, None), out_axes=(0, 1))
        inputs = (*self._divide(filtered), *rates, resets)
        memory, read = in_chunks(each, state.memory, *inputs)
        return DeltaState(window, memory), self._show(z, read)

    def _divide(self, filtered: Float[Array, "time channel"]) -> tuple[Array, Array, Array]:
        inner = self.heads * self.key_size
        parts = jnp.split(filtered, (inner, 2 * inner), -1)
        q, k, v = (part.reshape(len(part), self.heads, -1) for part in parts)
        return unit(q) * self.key_size**-0.5, unit(k), v

    def _rates(
        self, x: Float[Array, "*time width"]
    ) -> tuple[Float[Array, "*time head"], Float[Array, "*time head"]]:
        beta, alpha = jnp.split(self.gates(x), 2, -1)
        log_alpha = -jnp.exp(self.log_rate) * jax.nn.softplus(alpha + self.dt_bias)
        return log_alpha, jax.nn.sigmoid(beta)

    def _show(
        self, z: Float[Array, "*time inner"], read: Float[Array, "*time head value"]
    ) -> Float[Array, "*time width"]:
        normed = self.gain * rms(read, 1e-6)
        return self.out(normed.reshape(*read.shape[:-2], -1) * jax.nn.silu(z))


class GatedDeltaBlock(ResidualBlock[DeltaState, Projected]):
    """u = W x,  y = u + GatedDelta(LN(u))."""

    delta: GatedDelta

    def __init__(self, in_size: int, width: int, *, heads: int, head_size: int, key: PRNGKeyArray):
        enter_key, delta_key = jax.random.split(key)
        super().__init__(in_size, width, bias=False, key=enter_key)
        self.delta = GatedDelta(width, heads=heads, head_size=head_size, key=delta_key)

    @property
    def layer(self) -> GatedDelta:
        """The gated delta rule."""
        return self.delta
