"""How far each observation of a rollout lies outside the ellipsoid of its episode, as E3B has it.

    b_t = φ(o_t)ᵀ C_{t−1}⁻¹ φ(o_t),   C_t = Σ_{i≤t} φ(o_i) φ(o_i)ᵀ + ridge I

A square root of C⁻¹ is kept, by rank-one updates (Potter 1963): an update of C⁻¹ itself would
become indefinite by rounding, after observations that were seen often. As a loop, every step reads
and writes the roots of all environments; on an NVIDIA GPU one kernel takes all steps of one
environment, whose root stays in registers.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jaxtyping import Array, Bool, Float

from clew import kernels

Root = Float[Array, "feature feature"]
"""R with C⁻¹ = R Rᵀ."""
Features = Float[Array, " feature"]
Roots = Float[Array, "env feature feature"]
Seen = Float[Array, "time env feature"]
"""φ of observations."""
First = Bool[Array, "time env"]
Scores = Float[Array, "time env"]
WARPS = 4
"""Of 32 threads, for a kernel's root."""


def empty_root(features: int, ridge: float) -> Root:
    """Of an episode without observations."""
    return jnp.eye(features) / ridge**0.5


def distances(
    roots: Roots, before: Seen, first: First, after: Seen, ridge: float, count_first: bool
) -> tuple[Roots, Scores]:
    """The roots after a rollout, and the score of each `after`.

    An episode begins where it is the `first` step; `count_first`: then `before` enters C.
    """
    arguments = (roots, before, first, after)
    if kernels.possible(roots.shape[-1], roots.dtype):
        shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arguments)
        if _compiles(shapes, ridge, count_first):
            return by_kernel(*arguments, ridge, count_first)
    return by_loop(*arguments, ridge, count_first)


def by_loop(
    roots: Roots, before: Seen, first: First, after: Seen, ridge: float, count_first: bool
) -> tuple[Roots, Scores]:
    """A scan over time."""

    def one(
        root: Root, before: Features, first: Bool[Array, ""], after: Features
    ) -> tuple[Root, Float[Array, ""]]:
        start = empty_root(root.shape[-1], ridge)
        if count_first:
            # `rank_one_update` of a multiple of the identity, where every product is known
            v = before / ridge**0.5
            start = start - jnp.outer(v, v) * (_shrink(v @ v) / ridge**0.5)
        return rank_one_update(jnp.where(first, start, root), after)

    def step(roots: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        return jax.vmap(one)(roots, *now)

    return jax.lax.scan(step, roots, (before, first, after))


def rank_one_update(root: Root, features: Features) -> tuple[Root, Float[Array, ""]]:
    """The root after φφᵀ was added to C, and the score φᵀ C⁻¹ φ before that."""
    dot = partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)
    v = dot(features, root)
    score = dot(v, v)
    return root - jnp.outer(dot(root, v), v) * _shrink(score), score


def _shrink(score: Float[Array, ""]) -> Float[Array, ""]:
    """κ with (1 − κ v vᵀ)² = 1 − v vᵀ / (1 + vᵀv), where `score` is vᵀv."""
    return 1 / (1 + score + jnp.sqrt(1 + score))


def by_kernel(
    roots: Roots,
    before: Seen,
    first: First,
    after: Seen,
    ridge: float,
    count_first: bool,
    interpret: bool = False,
) -> tuple[Roots, Scores]:
    """The same; one kernel for each environment. Products are sums of float32."""
    time, _, features = before.shape
    square = (features, features)

    def rows(x: Features) -> Root:
        return jax.lax.broadcast_in_dim(x, square, (0,))

    def columns(x: Features) -> Root:
        return jax.lax.broadcast_in_dim(x, square, (1,))

    def begun(before: Features) -> Root:
        row, column = (jax.lax.broadcasted_iota(jnp.int32, square, axis) for axis in (0, 1))
        start = jnp.where(row == column, 1 / ridge**0.5, 0.0).astype(before.dtype)
        if not count_first:
            return start
        v = before / ridge**0.5
        return start - rows(v) * columns(v) * (_shrink((v * v).sum()) / ridge**0.5)

    def kernel(
        roots: Any, before: Any, first: Any, after: Any, out_roots: Any, out_scores: Any
    ) -> None:
        def step(t: Array, root: Root) -> Root:
            root = jnp.where(first[t, 0] > 0, begun(before[t, 0, :]), root)
            v = (rows(after[t, 0, :]) * root).sum(0)
            score = (v * v).sum()
            out_scores[t, 0] = score
            return root - rows((root * columns(v)).sum(1)) * columns(v) * _shrink(score)

        out_roots[0, :, :] = jax.lax.fori_loop(0, time, step, roots[0, :, :])

    by_env = pallas.BlockSpec((1, *square), lambda env: (env, 0, 0))
    by_time = pallas.BlockSpec((time, 1, features), lambda env: (0, env, 0))
    flags = pallas.BlockSpec((time, 1), lambda env: (0, env))
    return pallas.pallas_call(
        kernel,
        grid=(len(roots),),
        in_specs=[by_env, by_time, flags, by_time],
        out_specs=[by_env, flags],
        out_shape=[
            jax.ShapeDtypeStruct(roots.shape, roots.dtype),
            jax.ShapeDtypeStruct(first.shape, roots.dtype),
        ],
        interpret=interpret,
        compiler_params=kernels.compiler_params(WARPS * max(1, features // 64)),
    )(roots, before, first.astype(jnp.int32), after)


@cache
def _compiles(shapes: tuple[jax.ShapeDtypeStruct, ...], ridge: float, count_first: bool) -> bool:
    return kernels.compiles(partial(by_kernel, ridge=ridge, count_first=count_first), *shapes)
