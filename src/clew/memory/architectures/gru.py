"""The gated recurrent unit, layer-normalised as in the study, or plain."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear, orthogonal, uniform
from clew.memory.base import Architecture, cleared, register
from clew.memory.recurrence import recur

State = Float[Array, " width"]


@register("GRU")
class GRU(Architecture[State]):
    """Cho's order, with one norm over both gates:

        r, z = σ(LN(W_g x + U_g h))
        n    = tanh(LN(W_n x + U_n (r ⊙ h)))
        h'   = z ⊙ h + (1 − z) ⊙ n,   y = h'

    With `norm=False` it is torch's cell: biases instead of norms, and the reset gate after the
    product, n = tanh(W_n x + b + r ⊙ (U_n h + c)).
    """  # fmt: skip

    of_input: Linear
    """Rows r, z, n."""
    of_state: Linear
    gate_norm: LayerNorm | None
    candidate_norm: LayerNorm | None
    in_size: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def __init__(self, in_size: int, width: int, *, norm: bool = True, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        keys = jax.random.split(key, 4)
        if norm:
            self.of_input = linear(keys[0], 3 * width, in_size)
            self.of_state = Linear(jnp.concatenate([orthogonal(k, width, width) for k in keys[1:]]))
            self.gate_norm, self.candidate_norm = LayerNorm(2 * width), LayerNorm(width)
        else:
            shapes = ((3 * width, in_size), (3 * width,), (3 * width, width), (3 * width,))
            parts = [uniform(k, s, width**-0.5) for k, s in zip(keys, shapes, strict=True)]
            self.of_input, self.of_state = Linear(*parts[:2]), Linear(*parts[2:])
            self.gate_norm = self.candidate_norm = None

    def initial_state(self) -> State:
        """h = 0."""
        return jnp.zeros(self.width, self.of_state.weight.dtype)

    def read(self, x: Float[Array, "*time in"]) -> Float[Array, "*time rows"]:
        """Every gate's share of the input."""
        return self.of_input(x)

    def step(
        self, state: State, x: Float[Array, " rows"], reset: Bool[Array, ""]
    ) -> tuple[State, Float[Array, " width"]]:
        """One step."""
        h = _advance(self, cleared(state, reset), x)
        return h, h

    def unroll(
        self, state: State, xs: Float[Array, "time rows"], resets: Bool[Array, " time"]
    ) -> tuple[State, Float[Array, "time width"]]:
        """Step by step: what does not depend on the state was done in `read`."""
        hs = recur(_advance, self, state, xs, resets)
        return hs[-1], hs


def _advance(cell: GRU, h: State, from_input: Float[Array, " rows"]) -> State:
    w = cell.width
    if cell.gate_norm is None or cell.candidate_norm is None:
        from_state = cell.of_state(h)
        gates = jax.nn.sigmoid(from_input[: 2 * w] + from_state[: 2 * w])
        candidate = jnp.tanh(from_input[2 * w :] + gates[:w] * from_state[2 * w :])
    else:
        u = cell.of_state.weight
        gates = jax.nn.sigmoid(cell.gate_norm(from_input[: 2 * w] + u[: 2 * w] @ h))
        recalled = u[2 * w :] @ (gates[:w] * h)
        candidate = jnp.tanh(cell.candidate_norm(from_input[2 * w :] + recalled))
    z = gates[w:]
    return z * h + (1 - z) * candidate
