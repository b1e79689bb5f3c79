"""Recurrences that must go step by step.

On a CPU that is a scan. On an accelerator a step's work is small and its overhead is not, and
differentiating a scan also accumulates the gradient of every matrix step by step, a whole matrix
read and written a step. Only the state's own cotangent has to travel backwards, though; what is
owed to matrices is, over all of time, one product of what each was multiplied with and what its
results were owed. So there the cell is *tapped*: its products' operands are written down on the
way forward, the cotangents of their results on the way back, and the loops carry nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from clew.memory.base import cleared

Times = Callable[[Array, Array], Array]
"""(matrix, vector) → their product."""
Cell = Callable[[Any, Any, Any, Times], Any]
"""(weights, state, input, times) → next state. Each matrix among the weights meets the state
through `times`, once. A plain function: methods cannot be hashed."""
UNROLL = 4
"""Steps that an accelerator takes in one round of a loop: rounds have a cost of their own."""


def recur(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Bool[Array, " time"]) -> Any:
    """The states after every step, stacked: s_t = cell(weights, cleared(s_{t−1}), input_t)."""
    way = scanned if jax.default_backend() == "cpu" else tapped
    return way(cell, weights, state, inputs, resets)


def scanned(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """A plain scan, differentiated as it stands."""

    def advance(state: Any, now: Any) -> tuple[Any, Any]:
        value, reset = now
        state = cell(weights, cleared(state, reset), value, jnp.matmul)
        return state, state

    return jax.lax.scan(advance, state, (inputs, resets))[1]


def tapped(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """The same, with only the state and its cotangent inside loops."""
    leaves, structure = jax.tree.flatten(weights)
    frozen, start, values = jax.lax.stop_gradient((leaves, state, inputs))
    after, before, operands = _forwards(
        cell, jax.tree.unflatten(structure, frozen), frozen, start, values, resets
    )
    taps = {i: _owed(leaves[i], operand) for i, operand in operands.items()}
    others = {
        i: jnp.broadcast_to(leaf, (len(resets), *leaf.shape))
        for i, leaf in enumerate(leaves)
        if i not in operands
    }
    return _carry_back(
        cell, structure, after, taps, others, inputs, state, dict(enumerate(frozen)), before, resets
    )


def _forwards(
    cell: Cell, weights: Any, leaves: list[Array], state: Any, inputs: Any, resets: Any
) -> tuple[Any, Any, dict[int, Array]]:
    """States after and before each step, and what each matrix was multiplied with."""

    def advance(state: Any, now: Any) -> tuple[Any, Any]:
        value, reset = now
        operands: dict[int, Array] = {}

        def times(matrix: Array, vector: Array) -> Array:
            operands[_place(leaves, matrix)] = vector
            return matrix @ vector

        before = cleared(state, reset)
        after = cell(weights, before, value, times)
        return after, (after, before, operands)

    return jax.lax.scan(advance, state, (inputs, resets), unroll=UNROLL)[1]


@jax.custom_jvp
def _owed(matrix: Float[Array, "out in"], operands: Float[Array, "time in"]) -> Array:
    """Nothing is added to the products; but it has their derivative by the matrix."""
    return jnp.zeros((len(operands), len(matrix)), operands.dtype)


@_owed.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return _owed(*primals), primals[1] @ tangents[0].T


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _carry_back(
    cell: Cell,
    structure: Any,
    after: Any,
    taps: dict[int, Array],
    others: dict[int, Array],
    inputs: Any,
    state: Any,
    leaves: dict[int, Array],
    before: Any,
    resets: Any,
) -> Any:
    """`after`, unchanged. Its cotangent reaches taps, other weights, inputs and first state."""
    return after


def _forward(cell: Cell, structure: Any, after: Any, taps: Any, *rest: Any) -> tuple[Any, Any]:
    # of the taps only which there are is needed
    return after, (dict.fromkeys(taps, ()), *rest)


def _backward(cell: Cell, structure: Any, rest: Any, cotangents: Any) -> tuple[Any, ...]:
    matrices, _, inputs, _, leaves, before, resets = rest

    def retreat(owed: Any, now: Any) -> tuple[Any, Any]:
        cotangent, state, value, reset = now

        def again(state: Any, value: Any, taps: dict[int, Array], others: dict[int, Array]) -> Any:
            held = [others[i] if i in others else leaves[i] for i in range(len(leaves))]

            def times(matrix: Array, vector: Array) -> Array:
                return matrix @ vector + taps[_place(held, matrix)]

            return cell(jax.tree.unflatten(structure, held), state, value, times)

        taps = {i: jnp.zeros(len(leaves[i]), leaves[i].dtype) for i in matrices}
        others = {i: leaf for i, leaf in leaves.items() if i not in matrices}
        _, pull = jax.vjp(again, state, value, taps, others)
        before, *along = pull(jax.tree.map(jnp.add, cotangent, owed))
        return cleared(before, reset), along

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    steps = (cotangents, before, inputs, resets)
    owed, along = jax.lax.scan(retreat, nothing, steps, reverse=True, unroll=UNROLL)
    of_inputs, of_taps, of_others = along
    return None, of_taps, of_others, of_inputs, owed, None, None, None


_carry_back.defvjp(_forward, _backward)


def _place(leaves: list[Array], matrix: Array) -> int:
    return next(i for i, leaf in enumerate(leaves) if leaf is matrix)
