"""The linear recurrent unit: channels that decay and turn, each at a rate of its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, gelu, linear
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.diagonal import Complex, advance, exponential, states_after
from clew.memory.registry import register
from clew.validate import BadInput, finite_number, whole_number

Projected = tuple[Complex, Array]
"""γ ⊙ B x and D ⊙ x."""


class LinearRecurrentUnit(Recurrent[Complex, Projected]):
    """Orvieto et al. (2023), in complex numbers, and a gated linear unit after it:

        λ = exp(−exp(ν) + i exp(θ))
        s_t = λ ⊙ s_{t−1} + γ ⊙ B x_t
        o = gelu(Re(C s_t) + D ⊙ x_t),   y = W_a o ⊙ σ(W_b o)

    |λ| < 1 whatever ν is; γ starts at √(1 − |λ|²), so that s keeps the size of x.
    """  # fmt: skip

    log_rate: Float[Array, " state"]
    """ν."""
    log_phase: Float[Array, " state"]
    """θ."""
    log_gain: Float[Array, " state"]
    """log γ."""
    write: Linear
    """B; rows: real parts, then imaginary ones."""
    show: Linear
    """C; columns: of Re s, then of Im s, the latter negated."""
    skip: Float[Array, " width"]
    """D."""
    mix: Linear
    """Rows W_a, W_b."""

    def __init__(
        self,
        width: int,
        *,
        states: int,
        r_min: float,
        r_max: float,
        max_phase: float,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key, 6)
        # uniform on the ring between the two radii
        drawn = jax.random.uniform(keys[0], (states,), minval=r_min**2, maxval=r_max**2)
        self.log_rate = jnp.log(-0.5 * jnp.log(drawn))
        self.log_phase = jnp.log(max_phase * (1 - jax.random.uniform(keys[1], (states,))))
        self.log_gain = 0.5 * jnp.log1p(-drawn)
        self.write = Linear(jax.random.normal(keys[2], (2 * states, width)) * (2 * width) ** -0.5)
        self.show = Linear(jax.random.normal(keys[3], (width, 2 * states)) * states**-0.5)
        self.skip = jax.random.normal(keys[4], (width,))
        self.mix = linear(keys[5], 2 * width, width, bias=True)

    def initial_state(self) -> Complex:
        """s = 0."""
        zeros = jnp.zeros_like(self.log_rate)
        return Complex(zeros, zeros)

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """What is written, and what passes by."""
        gain = jnp.exp(self.log_gain)
        re, im = jnp.split(self.write(x), 2, -1)
        return Complex(gain * re, gain * im), self.skip * x

    def step(self, state: Complex, x: Projected, reset: Reset) -> tuple[Complex, Output]:
        """One step."""
        written, passed = x
        state = advance(self._decay, cleared(state, reset), written)
        return state, self._show(state, passed)

    def unroll(self, state: Complex, xs: Projected, resets: Resets) -> tuple[Complex, Outputs]:
        """All steps of a chunk at once."""
        written, passed = xs
        states = states_after(self._decay, written, state, resets)
        return jax.tree.map(lambda leaf: leaf[-1], states), self._show(states, passed)

    @property
    def _decay(self) -> Complex:
        return exponential(-jnp.exp(self.log_rate), jnp.exp(self.log_phase))

    def _show(
        self, state: Complex, passed: Float[Array, "*time width"]
    ) -> Float[Array, "*time width"]:
        o = gelu(self.show(jnp.concatenate(state, -1)) + passed)
        value, gate = jnp.split(self.mix(o), 2, -1)
        return value * jax.nn.sigmoid(gate)


@register("LRU")
class LRU(ResidualBlock[Complex, Projected]):
    """Linear recurrence of complex numbers, at learned rates.

    u = W x,  y = u + LinearRecurrentUnit(LN(u)).

    Args:
        states: Complex numbers in the state.
        r_min: Smallest |λ| at the start of training.
        r_max: Largest |λ| at the start; a channel forgets over about 1 / (1 − |λ|) steps.
        max_phase: Largest angle that a channel turns by in a step, at the start.
    """

    unit: LinearRecurrentUnit

    def __init__(
        self,
        in_size: int,
        width: int,
        *,
        states: int = 128,
        r_min: float = 0.9,
        r_max: float = 0.999,
        max_phase: float = 6.283,
        key: PRNGKeyArray,
    ):
        whole_number("states", states, 1)
        if not 0 <= finite_number("r_min", r_min) < finite_number("r_max", r_max) < 1:
            raise BadInput(
                f"r_min={r_min} and r_max={r_max} are not valid; choose 0 ≤ r_min < r_max < 1"
            )
        if not 0 < finite_number("max_phase", max_phase) <= 6.3:
            raise BadInput(
                f"max_phase={max_phase} is not valid; choose an angle above 0 and up to 2π, 6.283"
            )
        enter_key, unit_key = jax.random.split(key)
        super().__init__(in_size, width, key=enter_key)
        self.unit = LinearRecurrentUnit(
            width, states=states, r_min=r_min, r_max=r_max, max_phase=max_phase, key=unit_key
        )

    @property
    def layer(self) -> LinearRecurrentUnit:
        """The linear recurrent unit."""
        return self.unit
