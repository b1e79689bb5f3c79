"""Long short-term memory, layer-normalised as in the study, or plain."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear, orthogonal, uniform
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets
from clew.memory.recurrence import advance, recur, recur_batch
from clew.memory.registry import register
from clew.memory.transition import Parts, Product, normed


class LSTMState(NamedTuple):
    """Output and cell."""

    h: Float[Array, " width"]
    c: Float[Array, " width"]


Gates = Float[Array, "*time rows"]
"""What the input contributes to i, f, g and o, before their nonlinearities."""


class LSTMStateWeights(NamedTuple):
    """The weights that multiply the state, and the norms."""

    gates: Linear
    gate_norm: LayerNorm | None = None
    cell_norm: LayerNorm | None = None


@register("LSTM")
class LSTM(Architecture[LSTMState, Gates]):
    """Long short-term memory, layer-normalised; or torch's.

    One norm over the four gates, one on the cell before it is shown:

        i, f, g, o = LN(W x + U h)
        c' = σ(f) ⊙ c + σ(i) ⊙ tanh(g)
        h' = σ(o) ⊙ tanh(LN(c')),   y = h'

    The norm's bias starts at +1 for f: remember by default. With `norm=False` it is torch's
    cell: biases instead of norms.

    Args:
        norm: Normalise the layers, as in the study; else torch's cell.
    """  # fmt: skip

    of_input: Linear
    """Rows i, f, g, o."""
    of_state: LSTMStateWeights

    def __init__(self, in_size: int, width: int, *, norm: bool = True, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        keys = jax.random.split(key, 5)
        if norm:
            self.of_input = linear(keys[0], 4 * width, in_size)
            blocks = jnp.concatenate([orthogonal(k, width, width) for k in keys[1:]])
            remember = jnp.zeros(4 * width).at[width : 2 * width].set(1.0)
            norm_gates = eqx.tree_at(lambda norm: norm.bias, LayerNorm(4 * width), remember)
            self.of_state = LSTMStateWeights(Linear(blocks), norm_gates, LayerNorm(width))
        else:
            shapes = ((4 * width, in_size), (4 * width,), (4 * width, width), (4 * width,))
            parts = [uniform(k, s, width**-0.5) for k, s in zip(keys[1:], shapes, strict=True)]
            self.of_input, self.of_state = Linear(*parts[:2]), LSTMStateWeights(Linear(*parts[2:]))

    def initial_state(self) -> LSTMState:
        """h = c = 0."""
        zeros = jnp.zeros(self.width, self.of_state.gates.weight.dtype)
        return LSTMState(zeros, zeros)

    def read(self, x: Float[Array, "*time in"]) -> Gates:
        """Every gate's share of the input."""
        return self.of_input(x)

    def step(self, state: LSTMState, x: Gates, reset: Reset) -> tuple[LSTMState, Output]:
        """One step."""
        state = advance(_step, self.of_state, state, x, reset)
        return state, state.h

    def unroll(self, state: LSTMState, xs: Gates, resets: Resets) -> tuple[LSTMState, Outputs]:
        """Step by step: what does not depend on the state was done in `read`."""
        states = recur(_step, self.of_state, state, xs, resets)
        return jax.tree.map(lambda leaf: leaf[-1], states), states.h

    def unroll_batch(
        self, state: LSTMState, xs: Float[Array, "env time rows"], resets: Bool[Array, "env time"]
    ) -> tuple[LSTMState, Float[Array, "env time width"]]:
        """In every environment, on some GPUs as one kernel."""
        states = recur_batch(_step, self.of_state, state, xs, resets)
        return jax.tree.map(lambda leaf: leaf[:, -1], states), states.h


def _step(u: LSTMStateWeights, state: LSTMState, x: Parts, product: Product) -> LSTMState:
    gates = _sums(x, product(u.gates.weight, state.h))
    if u.gates.bias is not None:
        gates = _sums(gates, tuple(u.gates.bias))
    i, f, g, o = gates if u.gate_norm is None else normed(u.gate_norm, gates)
    c = jax.nn.sigmoid(f) * state.c + jax.nn.sigmoid(i) * jnp.tanh(g)
    (shown,) = (c,) if u.cell_norm is None else normed(u.cell_norm, (c,))
    return LSTMState(jax.nn.sigmoid(o) * jnp.tanh(shown), c)


def _sums(one: Parts, other: Parts) -> Parts:
    return tuple(a + b for a, b in zip(one, other, strict=True))
