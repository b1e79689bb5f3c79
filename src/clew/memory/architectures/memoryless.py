"""No memory: the control that says what can be done without one."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import Linear, orthogonal
from clew.memory.base import Architecture
from clew.memory.registry import register


@register("Memoryless")
class Memoryless(Architecture[tuple[()], Float[Array, "*time width"]]):
    """No memory, the control: y_t = W x_t + b."""

    linear: Linear
    in_size: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    parallel = True

    def __init__(self, in_size: int, width: int, *, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        self.linear = Linear(orthogonal(key, width, in_size, 2**0.5), jnp.zeros(width))

    def initial_state(self) -> tuple[()]:
        """Nothing."""
        return ()

    def read(self, x: Float[Array, "*time in"]) -> Float[Array, "*time width"]:
        """All there is to do."""
        return self.linear(x)

    def step(
        self, state: tuple[()], x: Float[Array, " width"], reset: Bool[Array, ""]
    ) -> tuple[tuple[()], Float[Array, " width"]]:
        """Forget everything but now."""
        return (), x

    def unroll(
        self, state: tuple[()], xs: Float[Array, "time width"], resets: Bool[Array, " time"]
    ) -> tuple[tuple[()], Float[Array, "time width"]]:
        """All steps at once."""
        return (), xs
