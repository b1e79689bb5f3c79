"""Recurrences that must go step by step: s_t = f(weights, s_{t−1}, input_t).

On a CPU that is a scan, and jax differentiates it. On an accelerator a step's work is small, and
the backward pass of a scan spends its time on other things: inside the loop it computes every
matrix product a second time, and adds up gradients with respect to whole matrices. But only the
gradient with respect to the state has to travel backwards in time. So there the backward loop
computes that and nothing else, from products that were computed beforehand for all steps at once.
Given those gradients, no step depends on another, and the gradients with respect to weights and
inputs are computed for all steps together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from clew.memory.base import cleared

W = TypeVar("W")
S = TypeVar("S")
X = TypeVar("X")

MatVec = Callable[[Array, Array], Array]
"""(matrix, vector) → their product."""
Transition = Callable[[W, S, X, MatVec], S]
"""(weights, state, input, matvec) → next state. It multiplies matrices with what depends on the
state through `matvec` alone. A plain function: methods cannot be hashed."""
UNROLL = 4
"""Steps that an accelerator takes in one round of a loop: rounds have a cost of their own."""


def matvec(matrix: Float[Array, "out in"], vector: Float[Array, " in"]) -> Float[Array, " out"]:
    """Their product; a batch of vectors is the left factor, and stays in its order."""
    return vector @ matrix.T


def recur(
    transition: Transition[W, S, X], weights: W, state: S, inputs: X, resets: Bool[Array, " time"]
) -> S:
    """The states after every step, stacked: s_t = f(weights, cleared(s_{t−1}), input_t)."""
    run = plain_scan if jax.default_backend() == "cpu" else scan_with_state_gradients
    return run(transition, weights, state, inputs, resets)


def plain_scan(
    transition: Transition[W, S, X],
    weights: W,
    state: S,
    inputs: X,
    resets: Bool[Array, " time"],
    unroll: int = 1,
) -> S:
    """The scan that jax differentiates by itself."""

    def advance(state: S, now: tuple[X, Bool[Array, ""]]) -> tuple[S, S]:
        value, reset = now
        state = transition(weights, cleared(state, reset), value, matvec)
        return state, state

    return jax.lax.scan(advance, state, (inputs, resets), unroll=unroll)[1]


def scan_with_state_gradients(
    transition: Transition[W, S, X], weights: W, state: S, inputs: X, resets: Bool[Array, " time"]
) -> S:
    """The same function; its backward loop computes gradients with respect to states alone."""
    fixed, start, values = jax.lax.stop_gradient((weights, state, inputs))
    after = plain_scan(transition, fixed, start, values, resets, UNROLL)
    before = jax.vmap(cleared)(jax.tree.map(_shifted, start, after), resets)

    def step(before: S, value: X) -> tuple[S, list[Array]]:
        products: list[Array] = []

        def keep(matrix: Array, vector: Array) -> Array:
            products.append(matvec(matrix, vector))
            return products[-1]

        return transition(weights, before, value, keep), products

    steps, products = jax.vmap(step)(before, inputs)
    products = jax.lax.stop_gradient(products)
    return _through_time(transition, steps, state, after, fixed, before, values, products, resets)


def _shifted(first: Array, rest: Array) -> Array:
    return jnp.concatenate((first[None], rest[:-1]))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _through_time(
    transition: Transition[W, S, X],
    steps: S,
    state: S,
    after: S,
    weights: W,
    before: S,
    inputs: X,
    products: list[Float[Array, "time out"]],
    resets: Bool[Array, " time"],
) -> S:
    """`after`. The gradient with respect to each of `steps` is that of its state through time."""
    return after


Residuals = tuple[PyTree, PyTree, PyTree, list[Float[Array, "time out"]], Bool[Array, " time"]]
"""Weights, states before each step, inputs, products, resets."""


def _forward(
    transition: Transition[W, S, X], steps: S, state: S, after: S, *residuals: PyTree
) -> tuple[S, tuple[PyTree, ...]]:
    return after, residuals


def _backward(
    transition: Transition[W, S, X], residuals: Residuals, cotangents: S
) -> tuple[S | None, ...]:
    weights, before, inputs, products, resets = residuals

    def retreat(later: S, now: PyTree) -> tuple[S, S]:
        cotangent, state, value, products, reset = now
        total = jax.tree.map(jnp.add, cotangent, later)
        known = iter(products)

        def recall(matrix: Array, vector: Array) -> Array:
            return _known(next(known), matrix, vector)

        _, pull = jax.vjp(lambda state: transition(weights, state, value, recall), state)
        return cleared(pull(total)[0], reset), total

    zeros = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    backwards = (cotangents, before, inputs, products, resets)
    first, totals = jax.lax.scan(retreat, zeros, backwards, reverse=True, unroll=UNROLL)
    return totals, first, *[None] * 6


_through_time.defvjp(_forward, _backward)


@jax.custom_jvp
def _known(
    product: Float[Array, " out"], matrix: Float[Array, "out in"], vector: Float[Array, " in"]
) -> Float[Array, " out"]:
    """The product of a matrix and a vector, which is not computed again."""
    return product


@_known.defjvp
def _(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    product, matrix, _ = primals
    return product, matvec(matrix, tangents[2])
