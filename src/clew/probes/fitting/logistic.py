"""Logistic regression with a ridge, many at once, solved to convergence.

    minimise  Σ_i m_i [log(1 + exp z_i) − y_i z_i] + l2/2 |w|²,   z = X w + b,   Σ_i m_i = 1

X holds principal components, so its covariance is diagonal and D = variance/4 + l2 bounds the
curvature of each coordinate: L-BFGS starts from D⁻¹ instead of from nothing. As z is linear in w,
one product with X serves a whole line search.
"""  # fmt: skip

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

ITERATIONS = 300
HISTORY = 8
SEARCH = 4
TOLERANCE = 2e-5
"""Of the gradient's length in the metric of D⁻¹."""

Weights = Float[Array, "feature fit"]
Rows = Float[Array, "row fit"]


class Problem(NamedTuple):
    """Fits that share their features."""

    x: Float[Array | np.ndarray, "row feature"]
    """The last column is 1, for the intercept."""
    mass: Float[Array | np.ndarray, " row"]
    """1/n, and 0 for rows that only fill up the shape."""
    y: Float[Array | np.ndarray, "row fit"]
    l2: Float[Array | np.ndarray, " fit"]
    variance: Float[Array | np.ndarray, " feature"]


class Solved(NamedTuple):
    """Of every fit."""

    w: Weights
    slope: Float[Array, " fit"]
    """What is left of the gradient."""
    iterations: Array


class _Pairs(NamedTuple):
    """The last steps, and what they did to the gradient; newest last."""

    step: Float[Array, "past feature fit"]
    change: Float[Array, "past feature fit"]
    inverse: Float[Array, "past fit"]
    """1 / ⟨step, change⟩; 0 where there is none yet."""


class _State(NamedTuple):
    w: Weights
    z: Rows
    gradient: Weights
    pairs: _Pairs
    done: Any
    iteration: Array


@jax.jit
@jax.vmap
def solve(problem: Problem) -> Solved:
    """Solve every fit of every problem (all arrays have one more axis in front)."""
    with jax.default_matmul_precision("highest"):
        return _solve(problem)


def _solve(problem: Problem) -> Solved:
    features, fits = problem.x.shape[1], problem.y.shape[1]
    ridge = jnp.broadcast_to(problem.l2, (features, fits)).at[-1].set(0.0)
    bound = jnp.maximum(problem.variance[:, None] / 4 + ridge, 1e-12)
    zero = jnp.zeros((features, fits))
    past = jnp.zeros((HISTORY, features, fits))
    start = _State(
        zero,
        jnp.zeros_like(problem.y),
        _gradient(problem, zero, jnp.zeros_like(problem.y), ridge),
        _Pairs(past, past, jnp.zeros((HISTORY, fits))),
        jnp.zeros(fits, bool),
        jnp.array(0),
    )

    def going(state: _State) -> Array:
        return (state.iteration < ITERATIONS) & ~state.done.all()

    end = jax.lax.while_loop(going, partial(_iterate, problem, ridge, bound), start)
    return Solved(end.w, _length(end.gradient, bound), end.iteration)


def _iterate(problem: Problem, ridge: Weights, bound: Weights, state: _State) -> _State:
    direction = -_downhill(state.pairs, state.gradient, bound)
    # a direction that rounding has spoilt gives way to plain descent
    good = (direction * state.gradient).sum(0) < 0
    direction = jnp.where(good, direction, -state.gradient / bound)
    ahead = jnp.matmul(problem.x, direction)
    reach = jnp.where(state.done, 0.0, _reach(problem, ridge, state, direction, ahead))
    w, z = state.w + reach * direction, state.z + reach * ahead
    gradient = _gradient(problem, w, z, ridge)
    pairs = _remember(state.pairs, w - state.w, gradient - state.gradient)
    done = state.done | (_length(gradient, bound) < TOLERANCE) | (reach == 0)
    return _State(w, z, gradient, pairs, done, state.iteration + 1)


def _gradient(problem: Problem, w: Weights, z: Rows, ridge: Weights) -> Weights:
    miss = problem.mass[:, None] * (jax.nn.sigmoid(z) - problem.y)
    return jnp.matmul(problem.x.T, miss) + ridge * w


def _length(gradient: Weights, bound: Weights) -> Array:
    return jnp.sqrt((gradient**2 / bound).sum(0))


def _reach(
    problem: Problem, ridge: Weights, state: _State, direction: Weights, ahead: Rows
) -> Float[Array, " fit"]:
    """How far to go: Newton's method in one dimension, kept between what is too near and too far.

    The function along the line is convex, so its slope tells on which side the minimum is.
    """
    mass = problem.mass[:, None]
    along, bend = (ridge * state.w * direction).sum(0), (ridge * direction**2).sum(0)

    def narrow(_: int, at: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        near, far, here = at
        p = jax.nn.sigmoid(state.z + here * ahead)
        slope = (mass * (p - problem.y) * ahead).sum(0) + along + here * bend
        curvature = (mass * p * (1 - p) * ahead**2).sum(0) + bend
        near, far = jnp.where(slope < 0, here, near), jnp.where(slope < 0, far, here)
        next_ = here - slope / curvature
        inside = (next_ > near) & (next_ < far)
        otherwise = jnp.where(jnp.isinf(far), 2 * here, (near + far) / 2)
        return near, far, jnp.where(inside, next_, otherwise)

    fits = problem.y.shape[1]
    start = (jnp.zeros(fits), jnp.full(fits, jnp.inf), jnp.ones(fits))
    return jax.lax.fori_loop(0, SEARCH, narrow, start)[2]


def _downhill(pairs: _Pairs, gradient: Weights, bound: Weights) -> Weights:
    """The inverse curvature times the gradient, as the remembered steps tell it."""
    shares = [jnp.zeros(gradient.shape[1])] * HISTORY
    for i in reversed(range(HISTORY)):
        shares[i] = pairs.inverse[i] * (pairs.step[i] * gradient).sum(0)
        gradient = gradient - shares[i] * pairs.change[i]
    last = (pairs.change[-1] ** 2 / bound).sum(0) * pairs.inverse[-1]
    turned = gradient / bound / jnp.where(last > 0, last, 1.0)
    for i in range(HISTORY):
        back = pairs.inverse[i] * (pairs.change[i] * turned).sum(0)
        turned = turned + (shares[i] - back) * pairs.step[i]
    return turned


def _remember(pairs: _Pairs, step: Weights, change: Weights) -> _Pairs:
    product = (step * change).sum(0)
    inverse = jnp.where(product > 1e-20, 1 / jnp.maximum(product, 1e-20), 0.0)
    new = _Pairs(step, change, inverse)
    return jax.tree.map(lambda old, one: jnp.concatenate((old[1:], one[None])), pairs, new)
