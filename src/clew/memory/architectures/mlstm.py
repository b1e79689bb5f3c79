"""mLSTM: key-value pairs in a sum whose gates may be exponentially large."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, linear, rms
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.chunkwise import attention_by_head, in_chunks
from clew.memory.registry import register
from clew.validate import BadInput, divides

CAP = 15.0
"""What the logarithms of the gates cannot pass."""


class MatrixState(NamedTuple):
    """A matrix a head, and the sum of its keys, weighed alike."""

    memory: Float[Array, "head key value"]
    keys: Float[Array, "head key"]


class Projected(NamedTuple):
    """What depends on the input alone."""

    q: Float[Array, "*time head key"]
    k: Float[Array, "*time head key"]
    """Times the input gate."""
    v: Float[Array, "*time head value"]
    log_forget: Float[Array, "*time head"]
    shown: Float[Array, "*time width"]
    """The output gate."""


class MatrixLSTM(Recurrent[MatrixState, Projected]):
    """Beck et al. (2024), as in xLSTM 7B (2025):

        q, k, v = W_q x / √d, W_k x, W_v x,   o = σ(W_o x)
        i = exp(cap(w_i x + b)),   f = σ(cap(w_f x + c)),   cap(a) = 15 tanh(a / 15)
        M_t = f M_{t−1} + i k vᵀ,   n_t = f n_{t−1} + i k
        y = W (o ⊙ LN(M_tᵀ q / max(|n_tᵀ q|, 1)))                     LN within a head

    The papers also carry a maximum m_t that M_t and n_t are divided by the exponential of, and that
    the quotient is free of. With capped gates nothing here passes e^15, and it is left out.
    """  # fmt: skip

    qkv: Linear
    """Rows: queries, keys, values, each head after head."""
    gates: Linear
    """Rows: i, then f, one a head."""
    o: Linear
    gain: Float[Array, " width"]
    out: Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, *, heads: int, key: PRNGKeyArray):
        self.heads = heads
        keys = jax.random.split(key, 3)
        self.qkv = linear(keys[0], 3 * width, width)
        # the gates begin without the input: write with weight 1, remember 20 to 400 steps
        bias = jnp.concatenate((jnp.zeros(heads), jnp.linspace(3.0, 6.0, heads)))
        self.gates = Linear(jnp.zeros((2 * heads, width)), bias)
        self.o = linear(keys[1], width, width)
        self.gain = jnp.ones(width)
        self.out = linear(keys[2], width, width)

    def initial_state(self) -> MatrixState:
        """M = 0, n = 0."""
        size = len(self.gain) // self.heads
        memory = jnp.zeros((self.heads, size, size), self.gain.dtype)
        return MatrixState(memory, memory[..., 0])

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """Queries, keys, values and gates."""
        parts = jnp.split(self.qkv(x), 3, -1)
        q, k, v = (part.reshape(*part.shape[:-1], self.heads, -1) for part in parts)
        log_input, forget = jnp.split(CAP * jnp.tanh(self.gates(x) / CAP), 2, -1)
        return Projected(
            q=q * q.shape[-1] ** -0.5,
            k=k * jnp.exp(log_input)[..., None],
            v=v,
            log_forget=jax.nn.log_sigmoid(forget),
            shown=jax.nn.sigmoid(self.o(x)),
        )

    def step(self, state: MatrixState, x: Projected, reset: Reset) -> tuple[MatrixState, Output]:
        """One step."""
        memory, keys = cleared(state, reset)
        f = jnp.exp(x.log_forget)[:, None]
        memory = f[..., None] * memory + x.k[:, :, None] * x.v[:, None, :]
        keys = f * keys + x.k
        read = jnp.einsum("hkv,hk->hv", memory, x.q)
        return MatrixState(memory, keys), self._show(x, read, (keys * x.q).sum(-1))

    def unroll(
        self, state: MatrixState, xs: Projected, resets: Resets
    ) -> tuple[MatrixState, Outputs]:
        """All steps of a chunk at once: the keys' sum is one more column, whose values are 1."""
        ones = jnp.ones((*xs.v.shape[:-1], 1), xs.v.dtype)
        values = jnp.concatenate((xs.v, ones), -1)
        both = jnp.concatenate((state.memory, state.keys[..., None]), -1)
        both, read = in_chunks(attention_by_head, both, xs.q, xs.k, values, xs.log_forget, resets)
        state = MatrixState(both[..., :-1], both[..., -1])
        return state, self._show(xs, read[..., :-1], read[..., -1])

    def _show(
        self,
        x: Projected,
        read: Float[Array, "*time head value"],
        weight: Float[Array, "*time head"],
    ) -> Float[Array, "*time width"]:
        h = read / jnp.maximum(jnp.abs(weight), 1)[..., None]
        normed = rms(h - h.mean(-1, keepdims=True), 1e-6)
        return self.out(x.shown * self.gain * normed.reshape(x.shown.shape))


@register("mLSTM")
class MLSTM(ResidualBlock[MatrixState, Projected]):
    """Key-value pairs in a sum with exponential gates (xLSTM).

    u = W x,  y = u + MatrixLSTM(LN(u)).

    Args:
        heads: Heads; a divisor of the memory's width, of which each gets at least 2.
    """

    cell: MatrixLSTM

    def __init__(self, in_size: int, width: int, *, heads: int = 4, key: PRNGKeyArray):
        divides("heads", heads, "width", width)
        if heads == width:
            raise BadInput(
                f"heads={heads} is not valid; a norm within a head of size 1 would leave nothing: "
                f"choose fewer heads than width={width}"
            )
        enter_key, cell_key = jax.random.split(key)
        super().__init__(in_size, width, key=enter_key)
        self.cell = MatrixLSTM(width, heads=heads, key=cell_key)

    @property
    def layer(self) -> MatrixLSTM:
        """The cell."""
        return self.cell
