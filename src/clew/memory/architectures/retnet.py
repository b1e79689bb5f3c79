"""Retention: a sum of key-value pairs that decays at a fixed rate in each head."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear
from clew.memory.architectures.retnet_block import RetNetBlock, log_decay
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets, cleared
from clew.memory.block import only_without_block
from clew.memory.chunkwise import attention_by_head, in_chunks
from clew.memory.registry import register
from clew.validate import divides

State = Float[Array, "head key value"]
Projected = list[Float[Array, "*time head size"]]
"""Query, key, value."""


@register("RetNet")
def make_retnet(
    in_size: int,
    width: int,
    *,
    heads: int = 4,
    full_block: bool = False,
    study_code: bool = False,
    key: PRNGKeyArray,
) -> Architecture:
    """Retention: key-value pairs in a sum that decays at fixed rates.

    The study has retention alone; the paper that introduced it, a whole block around it.

    Args:
        heads: Heads; each decays at a rate of its own. A divisor of the memory's width.
        full_block: The whole block of RetNet's own paper.
        study_code: As public code of the study's authors has it: without the bias b, and with
            keys that are not divided by √d.
    """
    divides("heads", heads, "width", width)
    if full_block:
        only_without_block(study_code)
        return RetNetBlock(in_size, width, heads=heads, key=key)
    return RetNet(in_size, width, heads=heads, study_code=study_code, key=key)


class RetNet(Architecture[State, Projected]):
    """Retention alone, as in the study:

        q, k, v = W_q x̂, W_k x̂ / √d, W_v x̂,   x̂ = LN(x)
        S_t = γ_h S_{t−1} + k_t v_tᵀ,   γ_h = 1 − 2^(−5−h)
        y = LN(W_o S_tᵀ q_t + b)
    """  # fmt: skip

    norm: LayerNorm
    qkv: Linear
    """Rows: queries, keys, values."""
    out: Linear
    out_norm: LayerNorm
    heads: int = eqx.field(static=True)
    key_scale: float = eqx.field(static=True)
    parallel = True

    def __init__(
        self, in_size: int, width: int, *, heads: int, study_code: bool, key: PRNGKeyArray
    ):
        self.in_size, self.width, self.heads = in_size, width, heads
        self.key_scale = 1.0 if study_code else (width // heads) ** -0.5
        qkv_key, out_key = jax.random.split(key)
        self.norm = LayerNorm(in_size)
        self.qkv = linear(qkv_key, 3 * width, in_size)
        self.out = linear(out_key, width, width, bias=not study_code)
        self.out_norm = LayerNorm(width)

    def initial_state(self) -> State:
        """S = 0."""
        size = self.width // self.heads
        return jnp.zeros((self.heads, size, size), self.qkv.weight.dtype)

    def read(self, x: Float[Array, "*time in"]) -> Projected:
        """Query, key and value."""
        q, k, v = jnp.split(self.qkv(self.norm(x)), 3, -1)
        k = k * self.key_scale
        return [part.reshape(*part.shape[:-1], self.heads, -1) for part in (q, k, v)]

    def step(self, state: State, x: Projected, reset: Reset) -> tuple[State, Output]:
        """One step."""
        q, k, v = x
        decay = jnp.exp(log_decay(self.heads, q.dtype))[:, None, None]
        state = decay * cleared(state, reset) + k[:, :, None] * v[:, None, :]
        return state, self._show(jnp.einsum("hkv,hk->hv", state, q))

    def unroll(self, state: State, xs: Projected, resets: Resets) -> tuple[State, Outputs]:
        """All steps of a chunk at once."""
        decays = jnp.broadcast_to(log_decay(self.heads, xs[0].dtype), xs[0].shape[:2])
        state, read = in_chunks(attention_by_head, state, *xs, decays, resets)
        return state, self._show(read)

    def _show(self, read: Float[Array, "*time head value"]) -> Float[Array, "*time width"]:
        return self.out_norm(self.out(read.reshape(*read.shape[:-2], self.width)))
