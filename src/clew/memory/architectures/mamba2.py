"""Mamba-2: a state-space model whose decay, input and output depend on the input."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, decay_rates, linear, rms
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.chunkwise import in_chunks, linear_attention
from clew.memory.convolution import ShortConvolution, Window
from clew.memory.registry import register
from clew.validate import divides, whole_number


class MambaState(NamedTuple):
    """The convolution's window and a matrix a head."""

    window: Window
    sum: Float[Array, "head state value"]


Projected = tuple[Array, Array, Array]
"""z, u, dt."""


class Mixer(Recurrent[MambaState, Projected]):
    """Dao & Gu (2024), one group:

        z, u, δ = W_in x
        v, B, C = silu(conv(u))                     v split into heads
        dt = softplus(δ + b),   a = exp(−dt exp(A_log))
        S_t = a S_{t−1} + dt B_t v_tᵀ
        y = W_out (g ⊙ rms((S_tᵀ C_t + D v_t) ⊙ silu(z)))       gate, then normalise
    """  # fmt: skip

    enter: Linear
    convolution: ShortConvolution
    dt_bias: Float[Array, " head"]
    log_rate: Float[Array, " head"]
    """A_log."""
    skip: Float[Array, " head"]
    """D."""
    gain: Float[Array, " inner"]
    out: Linear
    heads: int = eqx.field(static=True)
    states: int = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        *,
        heads: int,
        states: int,
        expand: int,
        study_code: bool = False,
        key: PRNGKeyArray,
    ):
        self.heads, self.states = heads, states
        inner = expand * width
        keys = jax.random.split(key, 4)
        self.enter = linear(keys[0], 2 * inner + 2 * states + heads, width)
        self.convolution = ShortConvolution(
            inner + 2 * states, bias=not study_code, normal=study_code, key=keys[1]
        )
        self.log_rate, self.dt_bias = decay_rates(keys[2], heads)
        self.skip, self.gain = jnp.ones(heads), jnp.ones(inner)
        self.out = linear(keys[3], width, inner)

    def initial_state(self) -> MambaState:
        """Nothing seen."""
        value = len(self.gain) // self.heads
        total = jnp.zeros((self.heads, self.states, value), self.gain.dtype)
        return MambaState(self.convolution.initial_window(), total)

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """What comes before the convolution."""
        inner = len(self.gain)
        z, u, delta = jnp.split(self.enter(x), (inner, 2 * inner + 2 * self.states), -1)
        return z, u, jax.nn.softplus(delta + self.dt_bias)

    def step(self, state: MambaState, x: Projected, reset: Reset) -> tuple[MambaState, Output]:
        """One step."""
        state = cleared(state, reset)
        never = jnp.zeros(1, bool)
        z, u, dt = x
        window, filtered = self.convolution.unroll(state.window, u[None], never)
        v, b, c = (part[0] for part in self._divide(filtered))
        decay = jnp.exp(self._log_decay(dt))[:, None, None]
        total = decay * state.sum + dt[:, None, None] * b[:, None] * v[:, None, :]
        read = jnp.einsum("hnp,n->hp", total, c)
        return MambaState(window, total), self._show(z, v, read)

    def unroll(
        self, state: MambaState, xs: Projected, resets: Resets
    ) -> tuple[MambaState, Outputs]:
        """All steps of a chunk at once."""
        z, u, dt = xs
        window, filtered = self.convolution.unroll(state.window, u, resets)
        v, b, c = self._divide(filtered)
        each = jax.vmap(linear_attention, in_axes=(0, None, None, 1, 1, None), out_axes=(0, 1))
        weighted = dt[:, :, None] * v
        inputs = (c, b, weighted, self._log_decay(dt), resets)
        total, read = in_chunks(each, state.sum, *inputs)
        return MambaState(window, total), self._show(z, v, read)

    def _divide(self, filtered: Float[Array, "time channel"]) -> tuple[Array, Array, Array]:
        inner = len(self.gain)
        v, b, c = jnp.split(filtered, (inner, inner + self.states), -1)
        return v.reshape(len(v), self.heads, -1), b, c

    def _log_decay(self, dt: Float[Array, "*time head"]) -> Float[Array, "*time head"]:
        return -dt * jnp.exp(self.log_rate)

    def _show(
        self,
        z: Float[Array, "*time inner"],
        v: Float[Array, "*time head value"],
        read: Float[Array, "*time head value"],
    ) -> Float[Array, "*time width"]:
        y = (read + self.skip[:, None] * v).reshape(z.shape)
        return self.out(self.gain * rms(y * jax.nn.silu(z), 1e-5))


@register("Mamba-2")
class Mamba2(ResidualBlock[MambaState, Projected]):
    """State-space model whose decay depends on the input.

    u = W x,  y = u + Mixer(LN(u)).

    Args:
        heads: Heads; a divisor of `expand` times the memory's width.
        states: Rows of each head's state.
        expand: How many times wider than the memory the inner layer is.
        study_code: As public code of the study's authors has it: no biases of W and of the
            convolution, whose weights start normal.
    """

    mixer: Mixer

    def __init__(
        self,
        in_size: int,
        width: int,
        *,
        heads: int = 4,
        states: int = 64,
        expand: int = 2,
        study_code: bool = False,
        key: PRNGKeyArray,
    ):
        whole_number("states", states, 1)
        whole_number("expand", expand, 1)
        divides("heads", heads, "expand × width", expand * width)
        enter_key, mixer_key = jax.random.split(key)
        super().__init__(in_size, width, bias=not study_code, key=enter_key)
        self.mixer = Mixer(
            width,
            heads=heads,
            states=states,
            expand=expand,
            study_code=study_code,
            key=mixer_key,
        )

    @property
    def layer(self) -> Mixer:
        """The mixer."""
        return self.mixer
