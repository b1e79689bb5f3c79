"""The gated recurrent unit, layer-normalised as in the study, or plain."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear, orthogonal, uniform
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets
from clew.memory.recurrence import advance, recur, recur_batch
from clew.memory.registry import register
from clew.memory.transition import Parts, Product, normed

State = Float[Array, " width"]
Gates = Float[Array, "*time rows"]
"""What the input contributes to r, z and n, before their nonlinearities."""


class GRUStateWeights(NamedTuple):
    """The weights that multiply the state: the rows of r and z, and those of n."""

    gates: Linear
    candidate: Linear
    gate_norm: LayerNorm | None = None
    candidate_norm: LayerNorm | None = None


@register("GRU")
class GRU(Architecture[State, Gates]):
    """Gated recurrent unit, layer-normalised; or torch's.

    In Cho's order, with one norm over both gates:

        r, z = σ(LN(W_g x + U_g h))
        n    = tanh(LN(W_n x + U_n (r ⊙ h)))
        h'   = z ⊙ h + (1 − z) ⊙ n,   y = h'

    With `norm=False` it is torch's cell: biases instead of norms, and the reset gate after the
    product, n = tanh(W_n x + b + r ⊙ (U_n h + c)).

    Args:
        norm: Normalise the layers, as in the study; else torch's cell.
    """  # fmt: skip

    of_input: Linear
    """Rows r, z, n."""
    of_state: GRUStateWeights

    def __init__(self, in_size: int, width: int, *, norm: bool = True, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        keys = jax.random.split(key, 4)
        if norm:
            self.of_input = linear(keys[0], 3 * width, in_size)
            r, z, n = (orthogonal(k, width, width) for k in keys[1:])
            self.of_state = GRUStateWeights(
                Linear(jnp.concatenate((r, z))), Linear(n), LayerNorm(2 * width), LayerNorm(width)
            )
        else:
            shapes = ((3 * width, in_size), (3 * width,), (3 * width, width), (3 * width,))
            parts = [uniform(k, s, width**-0.5) for k, s in zip(keys, shapes, strict=True)]
            self.of_input, (weight, bias) = Linear(*parts[:2]), parts[2:]
            gates, candidate = slice(2 * width), slice(2 * width, None)
            self.of_state = GRUStateWeights(
                Linear(weight[gates], bias[gates]), Linear(weight[candidate], bias[candidate])
            )

    def initial_state(self) -> State:
        """h = 0."""
        return jnp.zeros(self.width, self.of_state.gates.weight.dtype)

    def read(self, x: Float[Array, "*time in"]) -> Gates:
        """Every gate's share of the input."""
        return self.of_input(x)

    def step(self, state: State, x: Gates, reset: Reset) -> tuple[State, Output]:
        """One step."""
        h = advance(_step, self.of_state, state, x, reset)
        return h, h

    def unroll(self, state: State, xs: Gates, resets: Resets) -> tuple[State, Outputs]:
        """Step by step: what does not depend on the state was done in `read`."""
        hs = recur(_step, self.of_state, state, xs, resets)
        return hs[-1], hs

    def unroll_batch(
        self,
        state: Float[Array, "env width"],
        xs: Float[Array, "env time rows"],
        resets: Bool[Array, "env time"],
    ) -> tuple[Float[Array, "env width"], Float[Array, "env time width"]]:
        """In every environment, on some GPUs as one kernel."""
        hs = recur_batch(_step, self.of_state, state, xs, resets)
        return hs[:, -1], hs


def _step(u: GRUStateWeights, h: State, x: Parts, product: Product) -> State:
    x_r, x_z, x_n = x
    r_h, z_h = product(u.gates.weight, h)
    gates = x_r + r_h, x_z + z_h
    if u.gate_norm is None or u.candidate_norm is None:
        assert u.gates.bias is not None
        assert u.candidate.bias is not None
        (b_r, b_z), (b_n,) = u.gates.bias, u.candidate.bias
        r, z = jax.nn.sigmoid(gates[0] + b_r), jax.nn.sigmoid(gates[1] + b_z)
        (n_h,) = product(u.candidate.weight, h)
        n = x_n + r * (n_h + b_n)
    else:
        r, z = map(jax.nn.sigmoid, normed(u.gate_norm, gates))
        (n_h,) = product(u.candidate.weight, r * h)
        (n,) = normed(u.candidate_norm, (x_n + n_h,))
    return z * h + (1 - z) * jnp.tanh(n)
