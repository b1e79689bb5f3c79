"""A recurrence as one kernel of an NVIDIA GPU.

As a loop, a step of a recurrence is some ten kernels, each so small that starting it takes longer
than running it. Here one kernel takes all steps of a chunk, for 16 environments of one run, and one
kernel takes the gradient back through all of them. Both are made of the memory's own transition,
for rows, one for each environment. What it is handed in parts is loaded part by part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jaxtyping import Array, Bool, Float, PyTree

from clew import kernels
from clew.memory.transition import Parts, Transition

S = TypeVar("S")
Load = Callable[[], Array]
"""Loads a part of a matrix. All matrices at once would not fit a multiprocessor's registers."""
Dot = Callable[[Load, Array], Array]
"""(part of a matrix, rows) → the product of it with each row."""
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
    transition: Transition,
    weights: PyTree,
    state: S,
    inputs: PyTree,
    resets: Bool[Array, "row time"],
    interpret: bool = False,
) -> S:
    """The states after every step, [row, time, width] in every leaf."""
    dot = _dot(interpret)

    def product(matrix: tuple[Load, ...], rows: Array) -> Parts:
        return tuple(dot(part, rows) for part in matrix)

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
    transition: Transition,
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
    transposed = _dot(interpret, transposed=True)

    def kernel(whole: Refs, by_row: Refs, out: Refs) -> None:
        before, inputs, products, resets, cotangents = by_row
        totals, first = out

        def step(i: Array, later: S) -> S:
            t = time - 1 - i
            total = jax.tree.map(lambda ref, later: ref[:, t, :] + later, cotangents, later)
            _store(totals, t, total)
            known = iter([part for parts in _parts(products, t, width) for part in parts])
            matrices, values = _weights(whole, width), _parts(inputs, t, width)

            def recall(matrix: tuple[Load, ...], rows: Array) -> Parts:
                return tuple(_recalled(transposed, part, rows, next(known)) for part in matrix)

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


def _dot(interpret: bool, transposed: bool = False) -> Dot:
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

    def of_halves(load: Load, rows: Array) -> Array:
        if interpret or not exact:
            return dot(rows, load())
        (high, low), (matrix_high, matrix_low) = _halves(rows), _halves(load())
        return dot(high, matrix_high) + (dot(high, matrix_low) + dot(low, matrix_high))

    return of_halves


def _halves(x: Float[Array, "*any"]) -> tuple[Float[Array, "*any"], Float[Array, "*any"]]:
    """A number of 11 bits, and the rest."""
    bits = jax.lax.bitcast_convert_type(x, jnp.int32) & jnp.int32(-(2**13))
    high = jax.lax.bitcast_convert_type(bits, jnp.float32)
    return high, x - high


def _recalled(transposed: Dot, load: Load, rows: Array, known: Array) -> Array:
    """The product of a matrix and rows, which is not computed again."""

    @jax.custom_vjp
    def product(rows: Array, known: Array) -> Array:
        return known

    product.defvjp(
        lambda rows, known: (known, None), lambda _, back: (transposed(load, back), None)
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
