"""A memory: a leaky sum of its inputs."""

from __future__ import annotations

import equinox as eqx
import jax

from clew import memory
from clew.layers import Linear, linear
from clew.memory.base import cleared


@memory.register("Leaky")
class Leaky(memory.Architecture[jax.Array, jax.Array]):
    """A leaky sum of its inputs.

    s_t = leak · s_{t−1} + W x_t, which is also what it puts out.

    Args:
        leak: Share of the state that a step keeps.
    """

    write: Linear
    leak: float = eqx.field(static=True)

    def __init__(self, in_size: int, width: int, *, leak: float = 0.9, key: jax.Array):
        self.in_size, self.width, self.leak = in_size, width, leak
        self.write = linear(key, width, in_size)

    def initial_state(self) -> jax.Array:
        """Zeros."""
        return jax.numpy.zeros(self.width, self.write.weight.dtype)

    def step(self, state: jax.Array, x: jax.Array, reset: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Forget a little, and add."""
        state = self.leak * cleared(state, reset) + self.write(x)
        return state, state
