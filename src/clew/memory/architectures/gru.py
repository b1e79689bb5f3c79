"""The gated recurrent unit, layer-normalised as in the study, or plain."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear, orthogonal, uniform
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets, cleared
from clew.memory.fused import Parts, Product, normed
from clew.memory.recurrence import MatVec, matvec, recur, recur_batch
from clew.memory.registry import register

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
        h = _advance(self.of_state, cleared(state, reset), x)
        return h, h

    def unroll(self, state: State, xs: Gates, resets: Resets) -> tuple[State, Outputs]:
        """Step by step: what does not depend on the state was done in `read`."""
        hs = recur(_advance, self.of_state, state, xs, resets)
        return hs[-1], hs

    def unroll_batch(
        self,
        state: Float[Array, "env width"],
        xs: Float[Array, "env time rows"],
        resets: Bool[Array, "env time"],
    ) -> tuple[Float[Array, "env width"], Float[Array, "env time width"]]:
        """In every environment, on some GPUs as one kernel."""
        hs = recur_batch(_advance, _advance_by_parts, self.of_state, state, xs, resets)
        return hs[:, -1], hs


def _advance(u: GRUStateWeights, h: State, from_input: Gates, matvec: MatVec = matvec) -> State:
    w = len(h)
    to_gates, to_candidate = from_input[: 2 * w], from_input[2 * w :]
    from_gates = matvec(u.gates.weight, h)
    if u.gate_norm is None or u.candidate_norm is None:
        assert u.gates.bias is not None
        assert u.candidate.bias is not None
        gates = jax.nn.sigmoid(to_gates + from_gates + u.gates.bias)
        recalled = gates[:w] * (matvec(u.candidate.weight, h) + u.candidate.bias)
        candidate = jnp.tanh(to_candidate + recalled)
    else:
        gates = jax.nn.sigmoid(u.gate_norm(to_gates + from_gates))
        recalled = matvec(u.candidate.weight, gates[:w] * h)
        candidate = jnp.tanh(u.candidate_norm(to_candidate + recalled))
    z = gates[w:]
    return z * h + (1 - z) * candidate


def _advance_by_parts(
    u: GRUStateWeights, h: Float[Array, "env width"], x: Parts, product: Product
) -> Float[Array, "env width"]:
    """`_advance` in every environment, where all but the state is in parts."""
    (u_r, u_z), (u_n,), (x_r, x_z, x_n) = u.gates.weight, u.candidate.weight, x
    gates = x_r + product(u_r, h), x_z + product(u_z, h)
    if u.gate_norm is None or u.candidate_norm is None:
        assert u.gates.bias is not None
        assert u.candidate.bias is not None
        (b_r, b_z), (b_n,) = u.gates.bias, u.candidate.bias
        r, z = jax.nn.sigmoid(gates[0] + b_r), jax.nn.sigmoid(gates[1] + b_z)
        candidate = x_n + r * (product(u_n, h) + b_n)
    else:
        r, z = map(jax.nn.sigmoid, normed(u.gate_norm, gates))
        (candidate,) = normed(u.candidate_norm, (x_n + product(u_n, r * h),))
    return z * h + (1 - z) * jnp.tanh(candidate)
