"""Recurrences that must go step by step.

On a CPU that is a scan, differentiated as it stands. On an accelerator a step's work is small and
what surrounds it is not: such a gradient computes every product a second time, writes down what
every weight is owed by every step, and adds up whole matrices, all inside its loop. But only one
thing has to travel backwards in time: what each state is owed. There the loop backwards finds out
that and nothing else, from products that were made beforehand, for all steps at once. Knowing it,
no step depends on another, and weights and inputs get their gradients for all of time together.
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
"""(weights, state, input, times) → next state. Matrices meet the state through `times` alone. A
plain function: methods cannot be hashed."""
UNROLL = 4
"""Steps that an accelerator takes in one round of a loop: rounds have a cost of their own."""


def times(matrix: Float[Array, "out in"], vector: Float[Array, " in"]) -> Float[Array, " out"]:
    """Their product; a batch of vectors is the left factor, and stays in its order."""
    return vector @ matrix.T


def recur(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Bool[Array, " time"]) -> Any:
    """The states after every step, stacked: s_t = cell(weights, cleared(s_{t−1}), input_t)."""
    way = scanned if jax.default_backend() == "cpu" else apart
    return way(cell, weights, state, inputs, resets)


def scanned(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any, unroll: int = 1) -> Any:
    """A plain scan."""

    def advance(state: Any, now: Any) -> tuple[Any, Any]:
        value, reset = now
        state = cell(weights, cleared(state, reset), value, times)
        return state, state

    return jax.lax.scan(advance, state, (inputs, resets), unroll=unroll)[1]


def apart(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """The same, and what is owed through time is kept apart from what is owed within a step."""
    fixed, start, values = jax.lax.stop_gradient((weights, state, inputs))
    after = scanned(cell, fixed, start, values, resets, UNROLL)
    before = jax.vmap(cleared)(jax.tree.map(_shifted, start, after), resets)

    def step(before: Any, value: Any) -> tuple[Any, list[Array]]:
        products = []

        def kept(matrix: Array, vector: Array) -> Array:
            products.append(times(matrix, vector))
            return products[-1]

        return cell(weights, before, value, kept), products

    steps, products = jax.vmap(step)(before, inputs)
    products = jax.lax.stop_gradient(products)
    return _through_time(cell, steps, state, after, fixed, before, values, products, resets)


def _shifted(first: Array, rest: Array) -> Array:
    return jnp.concatenate((first[None], rest[:-1]))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _through_time(
    cell: Cell,
    steps: Any,
    state: Any,
    after: Any,
    weights: Any,
    before: Any,
    inputs: Any,
    products: list[Float[Array, "time out"]],
    resets: Bool[Array, " time"],
) -> Any:
    """`after`. Each of the `steps` is owed what its own result and all later ones are owed for."""
    return after


def _forward(
    cell: Cell, steps: Any, state: Any, after: Any, *rest: Any
) -> tuple[Any, tuple[Any, ...]]:
    return after, rest


def _backward(cell: Cell, rest: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    weights, before, inputs, products, resets = rest

    def retreat(later: Any, now: Any) -> tuple[Any, Any]:
        cotangent, state, value, products, reset = now
        owed = jax.tree.map(jnp.add, cotangent, later)
        known = iter(products)

        def again(matrix: Array, vector: Array) -> Array:
            return _known(next(known), matrix, vector)

        _, pull = jax.vjp(lambda state: cell(weights, state, value, again), state)
        return cleared(pull(owed)[0], reset), owed

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    backwards = (cotangents, before, inputs, products, resets)
    first, owed = jax.lax.scan(retreat, nothing, backwards, reverse=True, unroll=UNROLL)
    return owed, first, *[None] * 6


_through_time.defvjp(_forward, _backward)


@jax.custom_jvp
def _known(
    product: Float[Array, " out"], matrix: Float[Array, "out in"], vector: Float[Array, " in"]
) -> Float[Array, " out"]:
    """The product of a matrix and a vector, which is not computed again."""
    return product


@_known.defjvp
def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
    product, matrix, _ = primals
    return product, times(matrix, tangents[2])
