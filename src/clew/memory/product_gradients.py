"""A recurrence for CPUs, whose loops keep products, and their gradients.

The loop forwards keeps every product and the vector that was multiplied, the loop backwards the
gradient with respect to every product. Gradients with respect to matrices are then one product
over all steps. (jax by itself keeps every number that a step computes, and adds up a gradient as
large as each matrix at every step.)
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from clew.memory.base import Resets, cleared
from clew.memory.transition import (
    Inputs,
    Parts,
    Transition,
    cut,
    cut_vectors,
    differentiated_once,
    known,
    multiplied,
    width_of,
)

S = TypeVar("S")


def scan_with_product_gradients(
    transition: Transition, weights: PyTree, state: S, inputs: Inputs, resets: Resets
) -> S:
    """The states after every step, stacked."""
    width = width_of(state)
    fixed, start, values = jax.lax.stop_gradient((weights, state, inputs))
    # a product is twice as fast with a matrix that lies transposed
    transposed = jax.tree.map(lambda x: x.T, cut(fixed, width, axis=0))
    transposed = jax.lax.optimization_barrier(transposed)

    def advance(state: S, now: tuple[Array, Bool[Array, ""]]) -> tuple[S, tuple[Any, ...]]:
        value, reset = now
        before, factors, products = cleared(state, reset), [], []

        def keep(blocks: Parts, vector: Array) -> Parts:
            parts = tuple(vector @ block for block in blocks)
            factors.append(vector)
            products.append(concatenated(parts))
            return parts

        after = transition(transposed, before, cut(value, width), keep)
        return after, (before, after, factors, products)

    _, (before, after, factors, products) = jax.lax.scan(advance, start, (values, resets))

    def multiply(before: S, value: Array, factors: list[Array]) -> list[Array]:
        again, remembered = [], iter(factors)

        def collect(matrix: Array, _: Array) -> Parts:
            again.append(multiplied(matrix, next(remembered)))
            return cut(again[-1], width)

        transition(cut_vectors(weights, width), before, cut(value, width), collect)
        return again

    # their values are not needed, so that they are not computed again, but their gradients are
    products_again = jax.vmap(multiply)(before, values, factors)
    vectors, matrices = eqx.partition(weights, lambda leaf: leaf.ndim < 2)
    residuals = (jax.lax.stop_gradient(matrices), before, values, products, resets)
    return _through_products(transition, products_again, vectors, state, inputs, after, residuals)


def concatenated(parts: Parts) -> Array:
    """What was cut; not before it was computed, which XLA does one number at a time."""
    return jnp.concatenate(jax.lax.optimization_barrier(parts), -1)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _through_products(
    transition: Transition,
    products: list[Array],
    vectors: PyTree,
    state: S,
    inputs: Inputs,
    after: S,
    residuals: PyTree,
) -> S:
    """`after`, whose gradients are those of the recurrence that it is the result of."""
    return after


def _forward(transition: Transition, *given: Any) -> tuple[Any, Any]:
    *of, after, residuals = given
    _, vectors, *_ = of
    return differentiated_once(after, of), (vectors, residuals)


def _backward(transition: Transition, kept: PyTree, cotangents: PyTree) -> tuple[Any, ...]:
    vectors, (matrices, before, inputs, products, resets) = kept
    width = width_of(cotangents)

    def retreat(carry: PyTree, now: PyTree) -> tuple[PyTree, PyTree]:
        later, sums = carry
        cotangent, state, value, products, reset = now

        def step(state: PyTree, value: Parts, vectors: PyTree, changes: list[Parts]) -> PyTree:
            remembered = iter(zip(cut(products, width), changes, strict=True))

            def recall(blocks: Parts, vector: Array) -> Parts:
                each = zip(blocks, *next(remembered), strict=True)
                return tuple(known(part, block, vector) + change for block, part, change in each)

            weights = cut(eqx.combine(vectors, matrices), width, axis=0)
            return transition(weights, state, value, recall)

        at = (state, cut(value, width), vectors, cut(jax.tree.map(jnp.zeros_like, products), width))
        _, pull = jax.vjp(step, *at)
        of_state, of_value, of_vectors, of_products = pull(jax.tree.map(jnp.add, cotangent, later))
        sums = jax.tree.map(jnp.add, sums, of_vectors)
        of_products = [concatenated(parts) for parts in of_products]
        of_value = jax.tree.map(lambda _, parts: concatenated(parts), value, of_value)
        return (cleared(of_state, reset), sums), (of_products, of_value)

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    start = (nothing, jax.tree.map(jnp.zeros_like, vectors))
    steps = (cotangents, before, inputs, products, resets)
    (first, sums), (of_products, of_inputs) = jax.lax.scan(retreat, start, steps, reverse=True)
    return of_products, sums, first, of_inputs, None, None


_through_products.defvjp(_forward, _backward)
