"""How a memory that must go step by step writes its step: once, for loops and for kernels.

What a memory stacks in one array (r, z and n of a GRU, say) its step is handed in parts of the
memory's width. A kernel cannot cut arrays, and the gradient of a cut is slow on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from clew.layers import LayerNorm

Parts = tuple[Any, ...]
"""An array in parts of the memory's width."""
Inputs = Float[Array, "*batch rows"]
"""What inputs contribute to a step, stacked."""
Matrix = Any
"""Of weights, in whatever form the product that is handed over with it knows."""
Product = Callable[[Matrix, Array], Parts]
"""(matrix, vector) → their product."""
Transition = Callable[[Any, Any, Any, Product], Any]
"""(weights, state, input, product) → next state. Vectors among the weights, and the input, are
`Parts`; leaves of a state are whole. It multiplies matrices with what depends on the state through
`product` alone. It works on the last axis: others are a batch. A plain function: methods cannot be
hashed."""


def width_of(state: PyTree[Array]) -> int:
    """Of the memory that this is a state of."""
    return jax.tree.leaves(state)[0].shape[-1]


def cut(arrays: PyTree[Array], width: int) -> Any:
    """Every array in parts, along its last axis."""
    return jax.tree.map(lambda x: tuple(jnp.split(x, x.shape[-1] // width, -1)), arrays)


def cut_vectors(weights: PyTree[Array], width: int) -> Any:
    """Weights as a transition has them, but for their matrices, which stay as they are."""
    return jax.tree.map(lambda x: x if x.ndim > 1 else cut(x, width), weights)


def multiplied(matrix: Float[Array, "out in"], vectors: Float[Array, "*batch in"]) -> Array:
    """The product of a matrix with every vector."""
    return vectors @ matrix.T


def product(matrix: Float[Array, "out in"], vectors: Float[Array, "*batch in"]) -> Parts:
    """The same in parts, if each is as long as a vector."""
    return cut(multiplied(matrix, vectors), vectors.shape[-1])


@jax.custom_jvp
def known(
    product: Float[Array, " out"], matrix: Float[Array, "out in"], vector: Float[Array, " in"]
) -> Float[Array, " out"]:
    """The product of a matrix and a vector, which is not computed again."""
    return product


@known.defjvp
def _(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    product, matrix, _ = primals
    return product, multiplied(matrix, tangents[2])


def normed(norm: LayerNorm, parts: Parts) -> Parts:
    """The norm of what is in parts; its gain and bias are in parts as well."""

    def mean(parts: Parts) -> Float[Array, "*batch"]:
        return jax.tree.reduce(jnp.add, [part.mean(-1) for part in parts]) / len(parts)

    def across(row: Float[Array, "*batch"]) -> Float[Array, "*batch width"]:
        # not as a matrix of one column, for which a kernel has no good layout
        return jax.lax.broadcast_in_dim(row, parts[0].shape, tuple(range(row.ndim)))

    middle = mean(parts)
    variance = jnp.maximum(mean(tuple(part**2 for part in parts)) - middle**2, 0)
    scale = jax.lax.rsqrt(variance + 1e-5)
    each = zip(parts, norm.gain, norm.bias, strict=True)
    return tuple((part - across(middle)) * across(scale) * g + b for part, g, b in each)
