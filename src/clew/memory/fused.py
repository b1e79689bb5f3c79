"""A recurrence as one kernel of an NVIDIA GPU.

As a loop, a step of a recurrence is some ten kernels, each so small that starting it takes longer
than running it. Here one kernel takes all steps of a chunk, for 16 environments of one run, and one
kernel takes the gradient back through all of them. Both are made of the memory's own transition,
written for rows (one for each environment) and parts: a kernel cannot cut arrays, so what a memory
stacks (r, z and n of a GRU) is loaded part by part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jaxtyping import Array, Bool, Float, PyTree

from clew import kernels
from clew.layers import LayerNorm

S = TypeVar("S")
Parts = tuple[Any, ...]
"""An array in parts of the memory's width: of a matrix its rows are cut, else its last axis."""
Matrix = Callable[[], Array]
"""Loads a matrix. All of a memory's matrices at once would not fit a multiprocessor's registers."""
Product = Callable[[Matrix, Array], Array]
"""(matrix, rows) → the product of the matrix with each row."""
PartsTransition = Callable[[Any, Any, Any, Product], Any]
"""(weights, state, input, product) → next state. Leaves of weights and input are `Parts`, those of
a state are whole. It multiplies in the order of the memory's `Transition`."""
Refs = PyTree[Any]
"""Arrays in the GPU's memory, as a kernel sees them."""
ROWS = 16
"""A kernel's: the least that its products can have. 32 were slower, their states spill."""
WARPS = 8
"""Of 32 threads. With 4 the weights spill, 16 were slower."""


def fits(width: int, rows: int, dtype: jnp.dtype) -> bool:
    """Whether kernels can have these sizes, and this device is one for them."""
    return rows % ROWS == 0 and kernels.possible(width, dtype)


def asked_precision() -> str | None:
    """Of matrix products, as `jax.default_matmul_precision` has it here."""
    return jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]


def forward(
    transition: PartsTransition,
    weights: PyTree,
    state: S,
    inputs: PyTree,
    resets: Bool[Array, "row time"],
    interpret: bool = False,
) -> S:
    """The states after every step, [row, time, width] in every leaf."""
    product = _product(interpret)

    def kernel(whole: Refs, by_row: Refs, out: Refs) -> None:
        before, inputs, resets = by_row

        def step(t: Array, state: S) -> S:
            state = _cleared(state, resets[:, t])
            state = transition(_weights(whole, width), state, _parts(inputs, t, width), product)
            _store(out, t, state)
            return state

        jax.lax.fori_loop(0, time, step, jax.tree.map(lambda ref: ref[...], before))

    (rows, time), width = resets.shape, jax.tree.leaves(state)[0].shape[-1]
    out = jax.tree.map(lambda x: jax.ShapeDtypeStruct((rows, time, width), x.dtype), state)
    return _call(kernel, weights, (state, inputs, resets), out, interpret)


def backward(
    transition: PartsTransition,
    weights: PyTree,
    before: S,
    inputs: PyTree,
    products: list[Float[Array, "row time out"]],
    resets: Bool[Array, "row time"],
    cotangents: S,
    interpret: bool = False,
) -> tuple[S, S]:
    """The gradient with respect to the state after every step, and to that before the first.

    `before` are the states before every step, `products` what the transition's were there.
    """
    transposed = _product(interpret, transposed=True)

    def kernel(whole: Refs, by_row: Refs, out: Refs) -> None:
        before, inputs, products, resets, cotangents = by_row
        totals, first = out

        def step(i: Array, later: S) -> S:
            t = time - 1 - i
            total = jax.tree.map(lambda ref, later: ref[:, t, :] + later, cotangents, later)
            _store(totals, t, total)
            known = iter([part for parts in _parts(products, t, width) for part in parts])
            matrices, values = _weights(whole, width), _parts(inputs, t, width)

            def recall(matrix: Matrix, rows: Array) -> Array:
                return _recalled(transposed, matrix, rows, next(known))

            state = jax.tree.map(lambda ref: ref[:, t, :], before)
            _, pull = jax.vjp(lambda state: transition(matrices, state, values, recall), state)
            return _cleared(pull(total)[0], resets[:, t])

        zeros = jax.tree.map(lambda ref: jnp.zeros((ROWS, width), ref.dtype), cotangents)
        end = jax.lax.fori_loop(0, time, step, zeros)
        jax.tree.map(lambda ref, leaf: ref.__setitem__(..., leaf), first, end)

    (rows, time), width = resets.shape, jax.tree.leaves(cotangents)[0].shape[-1]
    out = (
        jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), cotangents),
        jax.tree.map(lambda x: jax.ShapeDtypeStruct((rows, width), x.dtype), cotangents),
    )
    return _call(kernel, weights, (before, inputs, products, resets, cotangents), out, interpret)


def normed(norm: LayerNorm, parts: Parts) -> Parts:
    """The norm of rows in parts; its gain and bias are in parts as well."""

    def mean(parts: Parts) -> Float[Array, " row"]:
        return jax.tree.reduce(jnp.add, [part.mean(-1) for part in parts]) / len(parts)

    def across(row: Float[Array, " row"]) -> Float[Array, "row width"]:
        # not as a matrix of one column, for which a kernel has no good layout
        return jax.lax.broadcast_in_dim(row, parts[0].shape, (0,))

    middle = mean(parts)
    variance = jnp.maximum(mean(tuple(part**2 for part in parts)) - middle**2, 0)
    scale = jax.lax.rsqrt(variance + 1e-5)
    each = zip(parts, norm.gain, norm.bias, strict=True)
    return tuple((part - across(middle)) * across(scale) * g + b for part, g, b in each)


def _weights(refs: Refs, width: int) -> PyTree[Parts]:
    """Vectors, and functions that load matrices, in parts."""

    def part(ref: Any, piece: slice) -> Any:
        return ref[piece] if ref.ndim == 1 else lambda: ref[piece, :]

    return jax.tree.map(
        lambda ref: tuple(part(ref, piece) for piece in _pieces(ref.shape[0], width)), refs
    )


def _parts(refs: Refs, t: Array, width: int) -> PyTree[Parts]:
    """Of one step, in parts."""
    return jax.tree.map(
        lambda ref: tuple(ref[:, t, piece] for piece in _pieces(ref.shape[-1], width)), refs
    )


def _pieces(size: int, width: int) -> list[slice]:
    return [slice(start, start + width) for start in range(0, size, width)]


def _store(refs: Refs, t: Array, state: PyTree[Array]) -> None:
    jax.tree.map(
        lambda ref, leaf: ref.__setitem__((slice(None), t, slice(None)), leaf), refs, state
    )


def _cleared(state: S, resets: Array) -> S:
    return jax.tree.map(lambda leaf: jnp.where((resets > 0)[:, None], 0.0, leaf), state)


def _product(interpret: bool, transposed: bool = False) -> Product:
    """With a matrix, or with its transpose; as exact as `jax.default_matmul_precision` says.

    Tensor cores multiply numbers of 11 bits (TF32). For float32 both factors are cut in two, and
    three of the four products of halves are added up: about 21 bits, beside sums that are rounded
    to 24. A sum of many such products is as near as float32's own, unless all have one sign.
    """
    exact = asked_precision() in ("highest", "float32")
    dimensions = (((1,), (0 if transposed else 1,)), ((), ()))
    precision = jax.lax.Precision.HIGHEST if interpret else jax.lax.Precision.DEFAULT

    def dot(rows: Array, matrix: Array) -> Array:
        return jax.lax.dot_general(
            rows, matrix, dimensions, precision=precision, preferred_element_type=rows.dtype
        )

    def product(matrix: Matrix, rows: Array) -> Array:
        if interpret or not exact:
            return dot(rows, matrix())
        (high, low), (matrix_high, matrix_low) = _halves(rows), _halves(matrix())
        return dot(high, matrix_high) + (dot(high, matrix_low) + dot(low, matrix_high))

    return product


def _halves(x: Float[Array, "*any"]) -> tuple[Float[Array, "*any"], Float[Array, "*any"]]:
    """A number of 11 bits, and the rest."""
    bits = jax.lax.bitcast_convert_type(x, jnp.int32) & jnp.int32(-(2**13))
    high = jax.lax.bitcast_convert_type(bits, jnp.float32)
    return high, x - high


def _recalled(transposed: Product, matrix: Matrix, rows: Array, known: Array) -> Array:
    """The product of a matrix and rows, which is not computed again."""

    @jax.custom_vjp
    def product(rows: Array, known: Array) -> Array:
        return known

    product.defvjp(
        lambda rows, known: (known, None), lambda _, back: (transposed(matrix, back), None)
    )
    return product(rows, known)


def _call(
    kernel: Callable[[Refs, Refs, Refs], None],
    whole: PyTree[Array],
    by_row: PyTree[Array],
    out: PyTree[jax.ShapeDtypeStruct],
    interpret: bool,
) -> Any:
    """Run a kernel once for every `ROWS` rows of `by_row` and `out`; it sees all of `whole`."""
    # kernels have no arrays of bits
    by_row = jax.tree.map(lambda x: x.astype(jnp.int32) if x.dtype == jnp.bool_ else x, by_row)
    arguments, tree = jax.tree.flatten((whole, by_row))
    shapes, out_tree = jax.tree.flatten(out)

    def rows_of(x: Array | jax.ShapeDtypeStruct) -> pallas.BlockSpec:
        return pallas.BlockSpec((ROWS, *x.shape[1:]), lambda i: (i, *[0] * (len(x.shape) - 1)))

    def all_of(x: Array) -> pallas.BlockSpec:
        return pallas.BlockSpec(x.shape, lambda _: (0,) * x.ndim)

    def unflattened(*refs: Any) -> None:
        whole, by_row = jax.tree.unflatten(tree, refs[: len(arguments)])
        kernel(whole, by_row, jax.tree.unflatten(out_tree, refs[len(arguments) :]))

    found = pallas.pallas_call(
        unflattened,
        grid=(shapes[0].shape[0] // ROWS,),
        in_specs=[*map(all_of, jax.tree.leaves(whole)), *map(rows_of, jax.tree.leaves(by_row))],
        out_specs=[*map(rows_of, shapes)],
        out_shape=shapes,
        interpret=interpret,
        compiler_params=kernels.compiler_params(WARPS),
    )(*arguments)
    return jax.tree.unflatten(out_tree, found)
