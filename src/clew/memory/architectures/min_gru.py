"""minGRU: a gated recurrent unit whose gates do not see the state."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, linear
from clew.memory.base import Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.block import ResidualBlock
from clew.memory.diagonal import advance, states_after
from clew.memory.registry import register
from clew.validate import whole_number

State = Float[Array, " inner"]
Projected = tuple[Array, Array]
"""1 − z and z ⊙ g(W_h x)."""


class MinimalGRU(Recurrent[State, Projected]):
    """Feng et al. (2024), with positive states, as trained there:

        z = σ(W_z x),   g(a) = a + ½ where a ≥ 0, else σ(a)
        h_t = (1 − z) ⊙ h_{t−1} + z ⊙ g(W_h x),   y = W_o h_t
    """  # fmt: skip

    of_input: Linear
    """Rows: candidate, z."""
    out: Linear

    def __init__(self, width: int, *, expand: int, key: PRNGKeyArray):
        in_key, out_key = jax.random.split(key)
        self.of_input = linear(in_key, 2 * expand * width, width)
        self.out = linear(out_key, width, expand * width)

    def initial_state(self) -> State:
        """h = 0."""
        return jnp.zeros(self.out.weight.shape[1], self.out.weight.dtype)

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """Both gates: nothing depends on the state."""
        candidate, z = jnp.split(self.of_input(x), 2, -1)
        positive = jnp.where(candidate >= 0, candidate + 0.5, jax.nn.sigmoid(candidate))
        return jax.nn.sigmoid(-z), jax.nn.sigmoid(z) * positive

    def step(self, state: State, x: Projected, reset: Reset) -> tuple[State, Output]:
        """One step."""
        keep, written = x
        h = advance(keep, cleared(state, reset), written)
        return h, self.out(h)

    def unroll(self, state: State, xs: Projected, resets: Resets) -> tuple[State, Outputs]:
        """All steps of a chunk at once."""
        hs = states_after(*xs, state, resets)
        return hs[-1], self.out(hs)


@register("minGRU")
class MinGRU(ResidualBlock[State, Projected]):
    """Gated recurrent unit whose gates do not see its state.

    u = W x,  y = u + MinimalGRU(LN(u)).

    Args:
        expand: How many times wider than the memory the state is.
    """

    unit: MinimalGRU

    def __init__(self, in_size: int, width: int, *, expand: int = 2, key: PRNGKeyArray):
        whole_number("expand", expand, 1)
        enter_key, unit_key = jax.random.split(key)
        super().__init__(in_size, width, key=enter_key)
        self.unit = MinimalGRU(width, expand=expand, key=unit_key)

    @property
    def layer(self) -> MinimalGRU:
        """The minimal GRU."""
        return self.unit
