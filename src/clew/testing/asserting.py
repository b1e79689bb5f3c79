"""Assertions that say in words what does not hold: pytest rewrites none of a library's own."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array, DTypeLike, PyTree


def require(holds: object, law: str) -> None:
    """Raise an AssertionError that states the law, unless it holds."""
    if not holds:
        raise AssertionError(law)


def require_array(
    name: str,
    array: Array | np.ndarray | jax.ShapeDtypeStruct,
    shape: Sequence[int],
    dtype: DTypeLike,
) -> None:
    """The shape and the dtype of an array."""
    found, wanted = (array.dtype, tuple(array.shape)), (np.dtype(dtype), tuple(shape))
    require(found == wanted, f"{name} must be {_words(*wanted)}, and is {_words(*found)}")


def require_alike(name: str, after: PyTree[Array], before: PyTree[Array]) -> None:
    """Trees of arrays of the same structure, shapes and dtypes: a compiled loop carries them."""
    one, two = (
        jax.tree.map(lambda leaf: _words(leaf.dtype, leaf.shape), each) for each in (after, before)
    )
    require(one == two, f"{name} must keep its shapes and types: it is {two}, and then {one}")


def require_equal(one: PyTree[Array], two: PyTree[Array], law: str) -> None:
    """Trees of arrays, bit by bit."""
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, law), one, two)


def require_close(
    one: PyTree[Array], two: PyTree[Array], law: str, tolerance: float = 1e-9
) -> None:
    """Trees of arrays, to rounding; `tolerance` is relative to each array's largest entry too."""

    def compare(a: Array, b: Array) -> None:
        atol = tolerance * (1 + np.abs(b).max())
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=atol, err_msg=law)

    jax.tree.map(compare, one, two)


def require_finite(tree: PyTree[Array], law: str) -> None:
    """Every number of a tree of arrays."""
    require(all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)), law)


def _words(dtype: DTypeLike, shape: tuple[int, ...]) -> str:
    return f"{dtype}{list(shape)}"
