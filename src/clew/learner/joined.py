"""Numbers and vectors of many kinds as two arrays, which a loop writes at once: each write of its
own would be a kernel."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

T = TypeVar("T")
KINDS = {"bool": jnp.int32, "int32": jnp.int32, "float32": jnp.float32}
"""Dtypes that are joined, and as what."""


def join(tree: PyTree[Array]) -> list[Array]:
    """What is a number or a vector in every environment, [env, …]: as one array of integers and one
    of floats. Then the rest, as it is."""
    leaves = jax.tree.leaves(tree)
    rows = [
        [leaf.reshape(len(leaf), -1).astype(kind) for leaf in leaves if _kind(leaf) is kind]
        for kind in (jnp.int32, jnp.float32)
    ]
    joined = [jnp.concatenate(each, -1) for each in rows if each]
    return joined + [leaf for leaf in leaves if _kind(leaf) is None]


def part(joined: list[Array], like: T) -> T:
    """The tree that was joined. `like` has its shapes; `joined` may have axes before those."""
    leaves, tree = jax.tree.flatten(like)
    arrays, found = iter(joined), {}
    for kind in (jnp.int32, jnp.float32):
        mine = [i for i, leaf in enumerate(leaves) if _kind(leaf) is kind]
        if not mine:
            continue
        whole = next(arrays)
        ends = [*accumulate(math.prod(leaves[i].shape[1:]) for i in mine)]
        for i, piece in zip(mine, jnp.split(whole, ends[:-1], -1), strict=True):
            shape = (*whole.shape[:-1], *leaves[i].shape[1:])
            found[i] = piece.reshape(shape).astype(leaves[i].dtype)
    for i, leaf in enumerate(leaves):
        if _kind(leaf) is None:
            found[i] = next(arrays)
    return jax.tree.unflatten(tree, [found[i] for i in range(len(leaves))])


def _kind(leaf: Any) -> Any:
    """What it is joined as; None if it is left alone."""
    return KINDS.get(str(leaf.dtype)) if leaf.ndim <= 2 else None
