"""No memory: the control that says what can be done without one."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Linear, orthogonal
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets
from clew.memory.registry import register

State = tuple[()]
Projected = Float[Array, "*time width"]


@register("Memoryless")
class Memoryless(Architecture[State, Projected]):
    """No memory, the control: what can be done without one.

    y_t = W x_t + b.
    """

    linear: Linear
    parallel = True

    def __init__(self, in_size: int, width: int, *, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        self.linear = Linear(orthogonal(key, width, in_size, 2**0.5), jnp.zeros(width))

    def initial_state(self) -> State:
        """Nothing."""
        return ()

    def read(self, x: Float[Array, "*time in"]) -> Projected:
        """The whole computation: there is no state."""
        return self.linear(x)

    def step(self, state: State, x: Projected, reset: Reset) -> tuple[State, Output]:
        """The output depends on this input alone."""
        return (), x

    def unroll(self, state: State, xs: Projected, resets: Resets) -> tuple[State, Outputs]:
        """All steps at once."""
        return (), xs
