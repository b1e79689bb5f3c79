"""Logistic regression with a ridge, by Newton's method, for penalties that fall one after another.

    minimise  1/n Σ_i [log(1 + exp z_i) − y_i z_i] + l2/2 |w|²,   z = X w + b

Each penalty starts from the solution of the one before, a few steps away. Steps are counted in full
curvature, so that data which a line separates, where the weights run far, take no longer. Rows come
in blocks, as many as a problem has: problems of any length are one program.
"""  # fmt: skip

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float, Int

from clew.probes.fitting.each import Each

PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
BLOCK = 512
STEPS = 40
"""For one penalty at most; a fit that needs more has not converged, and is counted."""
TOLERANCE = 1e-6
"""Of the gradient's length in the metric of the curvature, squared: twice what the objective still
has to fall. One more step is taken then, which leaves about the square of it."""
GRAIN = 1e-6
"""What float32 cannot tell apart, of the curvature and of the objective."""


class Problem(NamedTuple):
    """One question to one set of features."""

    x: Float[Array | np.ndarray, "row feature"]
    """The last column is 1, for the intercept, which has no penalty."""
    y: Float[Array | np.ndarray, " row"]
    rows: Int[Array | np.ndarray, ""]
    """The first so many count."""


class Solved(NamedTuple):
    """For every penalty."""

    w: Float[Array, "penalty feature"]
    left: Float[Array, " penalty"]
    """What `TOLERANCE` is about, before the last step."""


class _Point(NamedTuple):
    """The loss at w, without the penalty, and its derivatives."""

    w: Float[Array, " feature"]
    loss: Float[Array, ""]
    gradient: Float[Array, " feature"]
    curvature: Float[Array, "feature feature"]


class _State(NamedTuple):
    at: _Point
    penalty: Int[Array, ""]
    steps: Int[Array, ""]
    """Taken for this penalty."""
    reach: Float[Array, ""]
    """Of a step: 1, and less after one that led uphill."""
    solved: Solved


def _solve(problem: Problem) -> Solved:
    l2 = jnp.array(PENALTIES)
    features = problem.x.shape[1]
    empty = Solved(jnp.zeros((len(l2), features)), jnp.full(len(l2), jnp.inf))
    with jax.default_matmul_precision("highest"):
        at = _look(problem, jnp.zeros(features))
        start = _State(at, jnp.int32(0), jnp.int32(0), jnp.float32(1), empty)
        return jax.lax.while_loop(
            lambda state: state.penalty < len(l2), partial(_iterate, problem, l2), start
        ).solved


solve = Each(_solve)
"""Solve several problems."""


def _iterate(problem: Problem, l2: Float[Array, " penalty"], state: _State) -> _State:
    """One step for one penalty; or, where that would lead nowhere, on to the next penalty."""
    at = state.at
    ridge = jnp.full_like(at.w, l2[state.penalty]).at[-1].set(0.0)
    gradient = at.gradient + ridge * at.w
    step = _newton(at.curvature + jnp.diag(ridge), gradient)
    left = gradient @ step

    def leave() -> _State:
        w = state.solved.w.at[state.penalty].set(at.w - state.reach * step)
        solved = Solved(w, state.solved.left.at[state.penalty].set(left))
        return _State(at, state.penalty + 1, jnp.int32(0), jnp.float32(1), solved)

    def go() -> _State:
        new = _look(problem, at.w - state.reach * step)
        before, after = (each.loss + (ridge * each.w**2).sum() / 2 for each in (at, new))
        good = after <= before + GRAIN * (1 + before)
        reach = jnp.where(good, jnp.minimum(1.0, 2 * state.reach), state.reach / 4)
        chosen = jax.tree.map(lambda one, other: jnp.where(good, one, other), new, at)
        return _State(chosen, state.penalty, state.steps + 1, reach, state.solved)

    return jax.lax.cond((left < TOLERANCE) | (state.steps >= STEPS), leave, go)


def _newton(
    curvature: Float[Array, "feature feature"], gradient: Float[Array, " feature"]
) -> Float[Array, " feature"]:
    """curvature⁻¹ gradient, all directions first scaled alike: float32 has seven digits."""
    scale = jax.lax.rsqrt(jnp.maximum(jnp.diagonal(curvature), 1e-12))
    alike = curvature * scale[:, None] * scale + GRAIN * jnp.eye(len(scale))
    step = scale * cho_solve(cho_factor(alike), scale * gradient)
    # where rounding has spoilt it, a short step downhill will do
    return jnp.where(jnp.isfinite(step).all(), step, scale**2 * gradient / len(scale))


def _look(problem: Problem, w: Float[Array, " feature"]) -> _Point:
    """The loss and its derivatives, a block of rows at a time."""
    features = len(w)

    def block(number: Array, sums: _Point) -> _Point:
        start = number * BLOCK
        x = jax.lax.dynamic_slice(problem.x, (start, 0), (BLOCK, features))
        y = jax.lax.dynamic_slice(problem.y, (start,), (BLOCK,))
        mass = jnp.where(start + jnp.arange(BLOCK) < problem.rows, 1 / problem.rows, 0.0)
        z = x @ w
        p = jax.nn.sigmoid(z)
        bend = (mass * p * (1 - p))[:, None] * x
        loss = (mass * (jax.nn.softplus(z) - y * z)).sum()
        return _Point(
            w, sums.loss + loss, sums.gradient + (mass * (p - y)) @ x, sums.curvature + bend.T @ x
        )

    nothing = _Point(w, jnp.float32(0), jnp.zeros(features), jnp.zeros((features, features)))
    blocks = (problem.rows + BLOCK - 1) // BLOCK
    return jax.lax.fori_loop(0, blocks, block, nothing)
