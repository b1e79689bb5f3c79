"""TEMPLATE_NAME: a memory. It works as it is; change one thing at a time.

A leaky sum of what was seen, with a leak that is learned for every channel.

    python -m pytest test_template_module.py     the laws that every memory obeys
    clew list TEMPLATE_NAME --module template_module
    clew run template_module.toml --store results && clew report results
    clew probe template_module.toml --store results
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clew import memory
from clew.layers import Linear, linear
from clew.memory.base import cleared


# The name is what suites and commands know the memory by. The first line of the docstring is what
# `clew list` shows, and the lines under `Args:` are what it says of options.
@memory.register("TEMPLATE_NAME")
class TemplateClass(memory.Architecture[jax.Array, jax.Array]):
    """A leaky sum of its inputs, with a leak that is learned.

    s_t = λ ⊙ s_{t−1} + W x_t,  y_t = tanh(V s_t),  0 < λ < 1

    Args:
        longest: Steps that the slowest channel keeps its input for, at first.
    """

    # Weights. Take the dtype of everything from them, so that float64 and bfloat16 work.
    write: Linear
    show: Linear
    leak: jax.Array

    def __init__(self, in_size: int, width: int, *, longest: float = 100.0, key: jax.Array):
        self.in_size, self.width = in_size, width
        write_key, show_key = jax.random.split(key)
        self.write = linear(write_key, width, in_size)
        self.show = linear(show_key, width, width, bias=True)
        # λ = 1 − 1/steps, for steps from 2 to `longest`
        self.leak = jnp.log(jnp.geomspace(2.0, longest, width) - 1)

    def initial_state(self) -> jax.Array:
        """All zeros, as a reset leaves it; an array, or a tree of them."""
        return jnp.zeros(self.width, self.leak.dtype)

    def read(self, x: jax.Array) -> jax.Array:
        """What depends on the input alone: the learner does it once for every distinct input."""
        return self.write(x)

    def step(self, state: jax.Array, x: jax.Array, reset: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Take in one input, as `read` returned it; a reset clears the state before."""
        state = jax.nn.sigmoid(self.leak) * cleared(state, reset) + x
        return state, jnp.tanh(self.show(state))

    # `unroll`, the same over a whole chunk of time, is inherited: a loop over `step`. Override it
    # where the recurrence has a parallel form; the laws say whether it is the same function.
