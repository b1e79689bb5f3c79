"""Gated delta net: an associative memory that corrects what it has stored, and can forget."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, orthogonal, unit, xavier, xavier_normal
from clew.memory.architectures.gated_delta_block import GatedDeltaBlock
from clew.memory.base import Architecture, Output, Outputs, Reset, Resets, cleared
from clew.memory.block import only_without_block
from clew.memory.chunkwise import gated_delta_rule, in_chunks
from clew.memory.recurrence import advance, recur, recur_batch
from clew.memory.registry import register
from clew.memory.transition import Matrix, Parts, Product
from clew.validate import whole_number


@register("GatedDeltaNet")
def make_gated_delta_net(
    in_size: int,
    width: int,
    *,
    assoc_size: int = 64,
    heads: int = 2,
    full_block: bool = False,
    study_code: bool = False,
    key: PRNGKeyArray,
) -> Architecture:
    """Associative memory that corrects what it stored, and forgets.

    In the study a tanh recurrence reads it; the paper that introduced it has a whole block.

    Args:
        assoc_size: Size of keys and values.
        heads: Heads of the full block; without it there is one.
        full_block: The whole block of its own paper (Yang et al. 2024).
        study_code: Starts as in public code of the study's authors: normal weights, α the same
            for all inputs, and β nearly so.
    """
    whole_number("assoc_size", assoc_size, 1)
    whole_number("heads", heads, 1)
    if full_block:
        only_without_block(study_code)
        return GatedDeltaBlock(in_size, width, heads=heads, head_size=assoc_size, key=key)
    return GatedDeltaNet(in_size, width, assoc_size=assoc_size, study_code=study_code, key=key)


class DeltaNetState(NamedTuple):
    """The associative memory, and the hidden state that reads it."""

    memory: Float[Array, "key value"]
    h: Float[Array, " width"]


class Read(NamedTuple):
    """What depends on the input alone."""

    association: tuple[Array, Array, Array, Array, Array]
    """q, k, v, log α, β."""
    drive: Float[Array, "*time width"]
    """W_x x."""


class GatedDeltaNet(Architecture[DeltaNetState, Read]):
    """An associative memory that depends on the inputs alone, read by a tanh recurrence:

        q, k = W_q x / |W_q x|, W_k x / |W_k x|,   v = W_v x
        α, β = σ(w_α x + 4), σ(w_β x)
        M_t = α (I − β k kᵀ) M_{t−1} + β k vᵀ
        h_t = tanh(W_x x + W_h h_{t−1} + W_r LN(M_tᵀ q)),   y = h_t

    The 4 is where a bias starts: keep by default.
    """  # fmt: skip

    qkv: Linear
    gates: Linear
    """Rows: α, β."""
    of_input: Linear
    of_state: Linear
    read_norm: LayerNorm
    of_read: Linear
    assoc_size: int = eqx.field(static=True)
    parallel = True  # the associative memory is parallel; the tanh recurrence cannot be

    def __init__(
        self, in_size: int, width: int, *, assoc_size: int, study_code: bool, key: PRNGKeyArray
    ):
        self.in_size, self.width, self.assoc_size = in_size, width, assoc_size
        keys = jax.random.split(key, 5)
        start = _normal if study_code else _spread
        qkv, gates, of_input, of_state, of_read = start(keys, in_size, width, assoc_size)
        self.qkv, self.gates = Linear(qkv), Linear(gates, jnp.array([4.0, 0.0]))
        self.of_input = Linear(of_input, jnp.zeros(width))
        self.of_state, self.of_read = Linear(of_state), Linear(of_read)
        self.read_norm = LayerNorm(assoc_size)

    def initial_state(self) -> DeltaNetState:
        """M = 0, h = 0."""
        dtype = self.qkv.weight.dtype
        memory = jnp.zeros((self.assoc_size, self.assoc_size), dtype)
        return DeltaNetState(memory, jnp.zeros(self.width, dtype))

    def read(self, x: Float[Array, "*time in"]) -> Read:
        """Query, key, value and rates, and the input's share of the tanh recurrence."""
        q, k, v = jnp.split(self.qkv(x), 3, -1)
        gates = self.gates(x)
        log_alpha, beta = jax.nn.log_sigmoid(gates[..., 0]), jax.nn.sigmoid(gates[..., 1])
        return Read((unit(q), unit(k), v, log_alpha, beta), self.of_input(x))

    def step(self, state: DeltaNetState, x: Read, reset: Reset) -> tuple[DeltaNetState, Output]:
        """One step."""
        memory, h = cleared(state, reset)
        q, k, v, log_alpha, beta = x.association
        kept = jnp.exp(log_alpha) * memory
        memory = kept + beta * k[:, None] * (v - kept.T @ k)
        drive = self._drive(x.drive, memory.T @ q)
        h = advance(_step, self.of_state.weight, h, drive, jnp.bool_(False))
        return DeltaNetState(memory, h), h

    def unroll(
        self, state: DeltaNetState, xs: Read, resets: Resets
    ) -> tuple[DeltaNetState, Outputs]:
        """The memory of all steps of a chunk at once; then the tanh recurrence."""
        memory, drive = self._associate(state.memory, xs, resets)
        hs = recur(_step, self.of_state.weight, state.h, drive, resets)
        return DeltaNetState(memory, hs[-1]), hs

    def unroll_batch(
        self, state: DeltaNetState, xs: Read, resets: Bool[Array, "env time"]
    ) -> tuple[DeltaNetState, Float[Array, "env time width"]]:
        """In every environment; on some GPUs the tanh recurrence is one kernel."""
        memory, drive = jax.vmap(self._associate)(state.memory, xs, resets)
        weights = self.of_state.weight
        hs = recur_batch(_step, weights, state.h, drive, resets)
        return DeltaNetState(memory, hs[:, -1]), hs

    def _associate(
        self, memory: Float[Array, "key value"], xs: Read, resets: Resets
    ) -> tuple[Float[Array, "key value"], Float[Array, "time width"]]:
        """The associative memory after a chunk, and what drives the tanh recurrence."""
        memory, read = in_chunks(gated_delta_rule, memory, *xs.association, resets)
        return memory, self._drive(xs.drive, read)

    def _drive(
        self, drive: Float[Array, "*time width"], read: Float[Array, "*time value"]
    ) -> Float[Array, "*time width"]:
        return drive + self.of_read(self.read_norm(read))


def _spread(keys: PRNGKeyArray, in_size: int, width: int, size: int) -> list[Array]:
    """Weights, Xavier-uniform; the recurrent ones orthogonal."""
    return [
        xavier(keys[0], (3 * size, in_size)),
        xavier(keys[1], (2, in_size)),
        xavier(keys[2], (width, in_size)),
        orthogonal(keys[3], width, width),
        xavier(keys[4], (width, size)),
    ]


def _normal(keys: PRNGKeyArray, in_size: int, width: int, size: int) -> list[Array]:
    """Weights as in the authors' code, Xavier-normal."""
    qkv = [xavier_normal(key, (size, in_size)) for key in jax.random.split(keys[0], 3)]
    beta = 0.1 * xavier_normal(keys[1], (1, in_size))
    return [
        jnp.concatenate(qkv),
        jnp.concatenate((jnp.zeros_like(beta), beta)),
        xavier_normal(keys[2], (width, in_size)),
        xavier_normal(keys[3], (width, width)),
        xavier_normal(keys[4], (width, size)),
    ]


def _step(
    u: Matrix, h: Float[Array, "*batch width"], drive: Parts, product: Product
) -> Float[Array, "*batch width"]:
    (driven,), (recalled,) = drive, product(u, h)
    return jnp.tanh(driven + recalled)
