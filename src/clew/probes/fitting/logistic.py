"""The linear probe: logistic regression with an L2 penalty, along a regularisation path.

    minimise  1/n Σ_i [log(1 + exp z_i) − y_i z_i] + l2/2 |w|²,   z = X w + b

Newton's method; each penalty starts from the solution for the one before, a few steps away. Full
Newton steps also reach the far-away weights of separable data quickly. Rows come in blocks, as many
as a problem has: problems of any length share one program.
"""  # fmt: skip

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float, Int

from clew.probes.fitting.parallel import Batched

PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
BLOCK = 512
STEPS = 40
"""At most, for one penalty; a fit that needs more has not converged, and is counted."""
TOLERANCE = 1e-6
"""Of the squared Newton decrement, gᵀH⁻¹g: twice what the objective can still fall. One more step
is taken after it is reached, which leaves about the square of it."""
ROUNDING = 1e-6
"""Relative differences of the Hessian and of the objective that float32 does not resolve."""


class Problem(NamedTuple):
    """One question about one set of features."""

    x: Float[Array | np.ndarray, "row feature"]
    """The last column is 1, for the intercept, which has no penalty."""
    y: Float[Array | np.ndarray, " row"]
    rows: Int[Array | np.ndarray, ""]
    """How many rows count; the rest is padding."""


class RegularisationPath(NamedTuple):
    """The solution for every penalty."""

    w: Float[Array, "penalty feature"]
    decrement: Float[Array, " penalty"]
    """Squared Newton decrement, before the last step."""


class _Loss(NamedTuple):
    """The loss at w, without the penalty, and its derivatives."""

    w: Float[Array, " feature"]
    value: Float[Array, ""]
    gradient: Float[Array, " feature"]
    hessian: Float[Array, "feature feature"]


class _Iterate(NamedTuple):
    loss: _Loss
    penalty: Int[Array, ""]
    """Its number in `PENALTIES`."""
    steps: Int[Array, ""]
    """Taken for this penalty."""
    step_size: Float[Array, ""]
    """1, and less after a step that increased the objective."""
    path: RegularisationPath


def regularisation_path(problem: Problem) -> RegularisationPath:
    """The solutions for all `PENALTIES`."""
    l2 = jnp.array(PENALTIES)
    features = problem.x.shape[1]
    empty = RegularisationPath(jnp.zeros((len(l2), features)), jnp.full(len(l2), jnp.inf))
    with jax.default_matmul_precision("highest"):
        loss = _loss(problem, jnp.zeros(features))
        start = _Iterate(loss, jnp.int32(0), jnp.int32(0), jnp.float32(1), empty)
        return jax.lax.while_loop(
            lambda now: now.penalty < len(l2), partial(_iterate, problem, l2), start
        ).path


solve = Batched(regularisation_path)
"""Solve several problems."""


def _iterate(problem: Problem, l2: Float[Array, " penalty"], now: _Iterate) -> _Iterate:
    """One step for one penalty; or, if it has converged, on to the next penalty."""
    loss = now.loss
    ridge = jnp.full_like(loss.w, l2[now.penalty]).at[-1].set(0.0)
    gradient = loss.gradient + ridge * loss.w
    step = _newton_step(loss.hessian + jnp.diag(ridge), gradient)
    decrement = gradient @ step

    def next_penalty() -> _Iterate:
        w = now.path.w.at[now.penalty].set(loss.w - now.step_size * step)
        path = RegularisationPath(w, now.path.decrement.at[now.penalty].set(decrement))
        return _Iterate(loss, now.penalty + 1, jnp.int32(0), jnp.float32(1), path)

    def next_step() -> _Iterate:
        new = _loss(problem, loss.w - now.step_size * step)
        before, after = (one.value + (ridge * one.w**2).sum() / 2 for one in (loss, new))
        good = after <= before + ROUNDING * (1 + before)
        size = jnp.where(good, jnp.minimum(1.0, 2 * now.step_size), now.step_size / 4)
        chosen = jax.tree.map(lambda one, other: jnp.where(good, one, other), new, loss)
        return _Iterate(chosen, now.penalty, now.steps + 1, size, now.path)

    return jax.lax.cond((decrement < TOLERANCE) | (now.steps >= STEPS), next_penalty, next_step)


def _newton_step(
    hessian: Float[Array, "feature feature"], gradient: Float[Array, " feature"]
) -> Float[Array, " feature"]:
    """hessian⁻¹ gradient, with all directions scaled alike first: float32 has seven digits."""
    scale = jax.lax.rsqrt(jnp.maximum(jnp.diagonal(hessian), 1e-12))
    scaled = hessian * scale[:, None] * scale + ROUNDING * jnp.eye(len(scale))
    step = scale * cho_solve(cho_factor(scaled), scale * gradient)
    # if rounding has made it singular: a short step along the scaled gradient
    return jnp.where(jnp.isfinite(step).all(), step, scale**2 * gradient / len(scale))


def _loss(problem: Problem, w: Float[Array, " feature"]) -> _Loss:
    """The loss and its derivatives, summed block by block."""
    features = len(w)

    def add_block(number: Array, sums: _Loss) -> _Loss:
        start = number * BLOCK
        x = jax.lax.dynamic_slice(problem.x, (start, 0), (BLOCK, features))
        y = jax.lax.dynamic_slice(problem.y, (start,), (BLOCK,))
        weight = jnp.where(start + jnp.arange(BLOCK) < problem.rows, 1 / problem.rows, 0.0)
        z = x @ w
        p = jax.nn.sigmoid(z)
        curvature = (weight * p * (1 - p))[:, None] * x
        value = (weight * (jax.nn.softplus(z) - y * z)).sum()
        gradient = sums.gradient + (weight * (p - y)) @ x
        return _Loss(w, sums.value + value, gradient, sums.hessian + curvature.T @ x)

    zero = _Loss(w, jnp.float32(0), jnp.zeros(features), jnp.zeros((features, features)))
    blocks = (problem.rows + BLOCK - 1) // BLOCK
    return jax.lax.fori_loop(0, blocks, add_block, zero)
