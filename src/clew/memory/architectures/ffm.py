"""Fast and forgetful memory: traces that decay, each seen at several frequencies."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets, cleared
from clew.memory.diagonal import Complex, advance, exponential, states_after
from clew.memory.registry import register
from clew.validate import whole_number

LONGEST = 1024
"""Steps of the longest period, after which a hundredth of the slowest trace is left."""

Projected = tuple[Array, Array, Array]
"""What is written, what passes by, the gate between it and what is remembered."""


@register("FFM")
class FFM(Architecture[Complex, Projected]):
    """Traces that decay and turn: fast and forgetful memory.

    Morad et al. (2023). Every trace j is kept once for every frequency k, in complex numbers:

        w = W_w x ⊙ σ(W_i x)
        S_jk ← exp(−|α_j| + i ω_k) S_jk + w_j
        z = LN(W_m [Re S, Im S]),   g = σ(W_o x)
        y = g ⊙ z + (1 − g) ⊙ W_s x

    Args:
        memory_size: Traces, each decaying at a rate of its own.
        context_size: Frequencies that each trace is kept at.
    """  # fmt: skip

    of_input: Linear
    """Rows: W_w, W_s, W_i, W_o."""
    rates: Float[Array, " trace"]
    """α."""
    frequencies: Float[Array, " context"]
    """ω."""
    mix: Linear
    """Columns: trace by trace, frequency by frequency, real part and imaginary part."""
    norm: LayerNorm
    parallel = True

    def __init__(
        self,
        in_size: int,
        width: int,
        *,
        memory_size: int = 32,
        context_size: int = 4,
        key: PRNGKeyArray,
    ):
        whole_number("memory_size", memory_size, 1)
        whole_number("context_size", context_size, 1)
        self.in_size, self.width = in_size, width
        in_key, mix_key = jax.random.split(key)
        self.of_input = linear(in_key, 2 * (memory_size + width), in_size, bias=True)
        self.rates = jnp.linspace(0.67, -math.log(0.01) / LONGEST, memory_size)
        self.frequencies = 2 * jnp.pi / jnp.linspace(1, LONGEST, context_size)
        self.mix = linear(mix_key, width, 2 * memory_size * context_size, bias=True)
        self.norm = LayerNorm(width)

    def initial_state(self) -> Complex:
        """S = 0."""
        zeros = jnp.zeros((len(self.rates), len(self.frequencies)), self.rates.dtype)
        return Complex(zeros, zeros)

    def read(self, x: Float[Array, "*time in"]) -> Projected:
        """Everything but the traces."""
        m, w = len(self.rates), self.width
        written, passed, into, out = jnp.split(self.of_input(x), (m, m + w, 2 * m + w), -1)
        return written * jax.nn.sigmoid(into), passed, jax.nn.sigmoid(out)

    def step(self, state: Complex, x: Projected, reset: Reset) -> tuple[Complex, Output]:
        """One step."""
        written, passed, gate = x
        state = advance(self._decay, cleared(state, reset), self._drive(written))
        return state, self._show(state, passed, gate)

    def unroll(self, state: Complex, xs: Projected, resets: Resets) -> tuple[Complex, Outputs]:
        """All steps of a chunk at once."""
        written, passed, gate = xs
        states = states_after(self._decay, self._drive(written), state, resets)
        shown = self._show(states, passed, gate)
        return jax.tree.map(lambda leaf: leaf[-1], states), shown

    @property
    def _decay(self) -> Complex:
        return exponential(-jnp.abs(self.rates)[:, None], self.frequencies)

    def _drive(self, written: Float[Array, "*time trace"]) -> Complex:
        shape = (*written.shape, len(self.frequencies))
        return Complex(jnp.broadcast_to(written[..., None], shape), jnp.zeros(shape, written.dtype))

    def _show(
        self,
        state: Complex,
        passed: Float[Array, "*time width"],
        gate: Float[Array, "*time width"],
    ) -> Float[Array, "*time width"]:
        flat = jnp.stack(state, -1).reshape(*passed.shape[:-1], -1)
        return gate * self.norm(self.mix(flat)) + (1 - gate) * passed
