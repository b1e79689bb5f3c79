"""Recurrences that must go step by step: s_t = f(weights, s_{t−1}, input_t).

On a CPU that is a scan, and jax differentiates it. On an accelerator a step's work is small, and
the backward pass of a scan spends its time on other things: inside the loop it computes every
matrix product a second time, and adds up gradients with respect to whole matrices. But only the
gradient with respect to the state has to travel backwards in time. So there the backward loop
computes that and nothing else, from products that were computed beforehand for all steps at once.
Given those gradients, no step depends on another, and the gradients with respect to weights and
inputs are computed for all steps together. On an NVIDIA GPU both loops are kernels (`fused`).
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


def recur_batch(
    transition: Transition[W, S, X],
    by_parts: fused.PartsTransition,
    weights: W,
    state: S,
    inputs: X,
    resets: Bool[Array, "env time"],
) -> S:
    """`recur` in every environment; `by_parts` is the transition as a kernel can compute it."""
    (leaf, *_), (envs, _) = jax.tree.leaves(state), resets.shape
    arguments = (weights, state, inputs, resets)
    if fused.fits(leaf.shape[-1], envs, leaf.dtype):
        leaves, tree = jax.tree.flatten(arguments)
        shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
        if _compiles(transition, by_parts, tree, shapes, fused.asked_precision()):
            return kernels_with_state_gradients(transition, by_parts, *arguments)
    return jax.vmap(partial(recur, transition, weights))(state, inputs, resets)


@cache
def _compiles(
    transition: Transition,
    by_parts: fused.PartsTransition,
    tree: Any,
    shapes: tuple[jax.ShapeDtypeStruct, ...],
    precision: str | None,
) -> bool:
    """Whether this GPU can, with the precision that is asked for now."""

    def total(*arguments: PyTree) -> Array:
        states = kernels_with_state_gradients(transition, by_parts, *arguments)
        return jnp.stack([leaf.sum() for leaf in jax.tree.leaves(states)]).sum()

    gradient = jax.grad(total, argnums=(0, 1, 2))
    return kernels.compiles(gradient, *jax.tree.unflatten(tree, shapes))


def scan_with_state_gradients(
    transition: Transition[W, S, X], weights: W, state: S, inputs: X, resets: Bool[Array, " time"]
) -> S:
    """The same function; its backward loop computes gradients with respect to states alone."""
    fixed = jax.lax.stop_gradient((weights, state, inputs))
    after = plain_scan(transition, *fixed, resets, UNROLL)
    back = partial(_scan_back, transition)
    return _with_state_gradients(transition, back, after, weights, state, inputs, resets)


def kernels_with_state_gradients(
    transition: Transition[W, S, X],
    by_parts: fused.PartsTransition,
    weights: W,
    state: S,
    inputs: X,
    resets: Bool[Array, "env time"],
    interpret: bool = False,
) -> S:
    """The same in every environment, where both loops are kernels."""
    fixed = jax.lax.stop_gradient((weights, state, inputs))
    after = fused.forward(by_parts, *fixed, resets, interpret)

    def back(residuals: Residuals, cotangents: S) -> tuple[S, S]:
        return fused.backward(by_parts, *residuals, cotangents, interpret)

    arguments = (after, weights, state, inputs, resets)
    return _with_state_gradients(transition, back, *arguments, each=jax.vmap)


Residuals = tuple[PyTree, PyTree, PyTree, list[Float[Array, "*env time out"]], Array]
"""Weights, states before each step, inputs, products, resets."""
Back = Callable[[Residuals, S], tuple[S, S]]
"""(residuals, gradients of the states) → those through time, of each step's state and the first."""


def _with_state_gradients(
    transition: Transition[W, S, X],
    back: Back[S],
    after: S,
    weights: W,
    state: S,
    inputs: X,
    resets: Bool[Array, "*env time"],
    each: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
) -> S:
    """`after`, with the gradients of a recurrence; `each` maps over environments, if there are."""

    def begin(state: S, after: S, resets: Bool[Array, " time"]) -> S:
        return jax.vmap(cleared)(jax.tree.map(_shifted, state, after), resets)

    def step(before: S, value: X) -> tuple[S, list[Array]]:
        products: list[Array] = []

        def keep(matrix: Array, vector: Array) -> Array:
            products.append(matvec(matrix, vector))
            return products[-1]

        return transition(weights, before, value, keep), products

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
    return after, residuals


def _backward(back: Back[S], residuals: Residuals, cotangents: S) -> tuple[S | None, ...]:
    return *back(residuals, cotangents), None, None


_through_time.defvjp(_forward, _backward)


def _scan_back(transition: Transition[W, S, X], residuals: Residuals, cotangents: S) -> tuple[S, S]:
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
    return totals, first


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
