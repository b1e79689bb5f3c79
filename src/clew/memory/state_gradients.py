"""A recurrence for accelerators, whose loop backwards does as little as possible.

There a step's work is small, and every operation in a loop is a kernel to be started. So the loop
backwards computes the gradient with respect to the state, from products that were computed
beforehand for all steps at once. Given those gradients, no step depends on another, and the
gradients with respect to weights and inputs are computed for all steps together. On an NVIDIA GPU
both loops are kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from clew import kernels
from clew.memory import fused
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
    product_in_parts,
    width_of,
)

S = TypeVar("S")
UNROLL = 4
"""Steps that an accelerator takes in one round of a loop: rounds have a cost of their own."""


def scan_with_state_gradients(
    transition: Transition, weights: PyTree, state: S, inputs: Inputs, resets: Resets
) -> S:
    """The states after every step; the loop backwards computes gradients of states alone."""
    fixed = jax.lax.stop_gradient((weights, state, inputs))
    after = plain_scan(transition, *fixed, resets, UNROLL)
    back = partial(_scan_back, transition)
    return _with_state_gradients(transition, back, after, weights, state, inputs, resets)


def plain_scan(
    transition: Transition,
    weights: PyTree,
    state: S,
    inputs: Inputs,
    resets: Resets,
    unroll: int = 1,
) -> S:
    """The loop forwards, which jax could differentiate by itself."""
    width = width_of(state)
    weights, inputs = cut_vectors(weights, width), cut(inputs, width)
    product = product_in_parts(width)

    def step(state: S, now: tuple[PyTree, Bool[Array, ""]]) -> tuple[S, S]:
        value, reset = now
        state = transition(weights, cleared(state, reset), value, product)
        return state, state

    return jax.lax.scan(step, state, (inputs, resets), unroll=unroll)[1]


def kernels_fit(
    transition: Transition,
    weights: PyTree,
    state: PyTree,
    inputs: Inputs,
    resets: Bool[Array, "env time"],
) -> bool:
    """Whether `kernels_with_state_gradients` can have these, on this device."""
    leaf = jax.tree.leaves(state)[0]
    if not fused.fits(leaf.shape[-1], len(resets), leaf.dtype):
        return False
    leaves, tree = jax.tree.flatten((weights, state, inputs, resets))
    shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    return _compiles(transition, tree, shapes, fused.asked_precision())


@cache
def _compiles(
    transition: Transition,
    tree: Any,
    shapes: tuple[jax.ShapeDtypeStruct, ...],
    precision: str | None,
) -> bool:
    """Whether this GPU can, with the precision that is asked for now."""

    def total(*arguments: PyTree) -> Array:
        states = kernels_with_state_gradients(transition, *arguments)
        return jnp.stack([leaf.sum() for leaf in jax.tree.leaves(states)]).sum()

    gradient = jax.grad(total, argnums=(0, 1, 2))
    return kernels.compiles(gradient, *jax.tree.unflatten(tree, shapes))


def kernels_with_state_gradients(
    transition: Transition,
    weights: PyTree,
    state: S,
    inputs: Inputs,
    resets: Bool[Array, "env time"],
    interpret: bool = False,
) -> S:
    """The same in every environment, where both loops are kernels."""
    fixed = jax.lax.stop_gradient((weights, state, inputs))
    after = fused.forward(transition, *fixed, resets, interpret)

    def back(residuals: Residuals, cotangents: S) -> tuple[S, S]:
        return fused.backward(transition, *residuals, cotangents, interpret)

    arguments = (after, weights, state, inputs, resets)
    return _with_state_gradients(transition, back, *arguments, each=jax.vmap)


Residuals = tuple[PyTree, PyTree, PyTree, list[Float[Array, "*env time out"]], Array]
"""Weights, states before each step, inputs, products, resets."""
Back = Callable[[Residuals, S], tuple[S, S]]
"""(residuals, gradients of the states) → those through time, of each step's state and the first."""


def _with_state_gradients(
    transition: Transition,
    back: Back[S],
    after: S,
    weights: PyTree,
    state: S,
    inputs: Inputs,
    resets: Bool[Array, "*env time"],
    each: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
) -> S:
    """`after`, with the gradients of a recurrence; `each` maps over environments, if there are."""
    width = width_of(state)

    def begin(state: S, after: S, resets: Resets) -> S:
        return jax.vmap(cleared)(jax.tree.map(_shifted, state, after), resets)

    def step(before: S, value: Inputs) -> tuple[S, list[Array]]:
        products: list[Array] = []

        def keep(matrix: Array, vector: Array) -> Parts:
            products.append(multiplied(matrix, vector))
            return cut(products[-1], width)

        return transition(cut_vectors(weights, width), before, cut(value, width), keep), products

    fixed, start, values = jax.lax.stop_gradient((weights, state, inputs))
    before = each(begin)(start, after, resets)
    steps, products = each(jax.vmap(step))(before, inputs)
    residuals = (fixed, before, values, jax.lax.stop_gradient(products), resets)
    return _through_time(back, steps, state, after, residuals)


def _shifted(first: Array, rest: Array) -> Array:
    return jnp.concatenate((first[None], rest[:-1]))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _through_time(back: Back[S], steps: S, state: S, after: S, residuals: Residuals) -> S:
    """`after`. The gradient with respect to each of `steps` is that of its state through time."""
    return after


def _forward(
    back: Back[S], steps: S, state: S, after: S, residuals: Residuals
) -> tuple[S, Residuals]:
    return differentiated_once(after, (steps, state)), residuals


def _backward(back: Back[S], residuals: Residuals, cotangents: S) -> tuple[S | None, ...]:
    return *back(residuals, cotangents), None, None


_through_time.defvjp(_forward, _backward)


def _scan_back(transition: Transition, residuals: Residuals, cotangents: S) -> tuple[S, S]:
    weights, before, inputs, products, resets = residuals
    width = width_of(cotangents)
    weights, inputs = cut_vectors(weights, width), cut(inputs, width)

    def retreat(later: S, now: PyTree) -> tuple[S, S]:
        cotangent, state, value, products, reset = now
        total = jax.tree.map(jnp.add, cotangent, later)
        remembered = iter(products)

        def recall(matrix: Array, vector: Array) -> Parts:
            return cut(known(next(remembered), matrix, vector), width)

        _, pull = jax.vjp(lambda state: transition(weights, state, value, recall), state)
        return cleared(pull(total)[0], reset), total

    zeros = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    backwards = (cotangents, before, inputs, products, resets)
    first, totals = jax.lax.scan(retreat, zeros, backwards, reverse=True, unroll=UNROLL)
    return totals, first
