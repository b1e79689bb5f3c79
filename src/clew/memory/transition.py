"""How a memory that must go step by step writes its step: once, for loops and for kernels.

What a memory stacks in one array (r, z and n of a GRU, say) its step is handed in parts of the
memory's width. A kernel cannot cut arrays, and the gradient of a cut is slow on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from clew.layers import LayerNorm
from clew.validate import BadInput

T = TypeVar("T")

Parts = tuple[Any, ...]
"""An array in parts of the memory's width."""
Inputs = PyTree[Float[Array, "*batch rows"]]
"""What inputs contribute, parts stacked: to one step, or to those of a chunk."""
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
    """Of the memory that this is a state of; all leaves of a state are as wide."""
    return jax.tree.leaves(state)[0].shape[-1]


def cut(arrays: PyTree[Array], width: int, axis: int = -1) -> Any:
    """Every array in parts, along its last axis or this one."""

    def parts(x: Array) -> Parts:
        if x.ndim == 0 or x.shape[axis] % width:
            raise BadInput(
                f"a recurrent step of a memory of width {width} was given an array of shape "
                f"{x.shape}; its inputs, vectors and the rows of its matrices must be as many "
                "times the width as there are parts (docs/howto/memory.md)"
            )
        return tuple(jnp.split(x, x.shape[axis] // width, axis))

    return jax.tree.map(parts, arrays)


def cut_vectors(weights: PyTree[Array], width: int) -> Any:
    """Weights as a transition has them, but for their matrices, which stay as they are."""
    return jax.tree.map(lambda x: x if x.ndim > 1 else cut(x, width), weights)


def multiplied(matrix: Float[Array, "out in"], vectors: Float[Array, "*batch in"]) -> Array:
    """The product of a matrix with every vector."""
    return vectors @ matrix.T


def product_in_parts(width: int) -> Product:
    """The same in parts."""
    return lambda matrix, vectors: cut(multiplied(matrix, vectors), width)


@jax.custom_jvp
def known(
    value: Float[Array, " out"], matrix: Float[Array, "out in"], vector: Float[Array, " in"]
) -> Float[Array, " out"]:
    """`value`, which is the product of a matrix and a vector, and is not computed again."""
    return value


@known.defjvp
def _(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    value, matrix, _ = primals
    return value, multiplied(matrix, tangents[2])


def differentiated_once(value: T, of: PyTree[Array]) -> T:
    """`value`, a function of `of`; it has no second derivative, which would be wrong."""
    return _once((of, value))[1]


_once: Any = jax.custom_jvp(lambda tree: tree)


@_once.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> Any:
    raise NotImplementedError(
        "memories that go step by step have first derivatives only; scan their `step` for others"
    )


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
