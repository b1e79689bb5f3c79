"""Small arrays as one: a loop then writes them at once, where each write would be a kernel."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

T = TypeVar("T")
KINDS = {"bool": jnp.int32, "int32": jnp.int32, "float32": jnp.float32}
"""Dtypes that are joined, and as what."""


def join(tree: PyTree[Array]) -> list[Array]:
    """What is small, as one array for integers and one for floats, [env, …]; the rest as it is."""
    leaves = jax.tree.leaves(tree)
    return [
        leaves[group[0]]
        if kind is None
        else jnp.concatenate(
            [leaves[i].reshape(len(leaves[i]), -1).astype(kind) for i in group], -1
        )
        for kind, group in _groups(leaves)
    ]


def part(joined: list[Array], like: T) -> T:
    """The tree that was joined, with further axes before those of `like`, which has its shapes."""
    leaves, tree = jax.tree.flatten(like)
    found: dict[int, Array] = {}
    for array, (kind, group) in zip(joined, _groups(leaves), strict=True):
        if kind is None:
            found[group[0]] = array
            continue
        start = 0
        for i in group:
            shape = leaves[i].shape[1:]
            piece = array[..., start : start + math.prod(shape)]
            found[i] = piece.reshape(*array.shape[:-1], *shape).astype(leaves[i].dtype)
            start += math.prod(shape)
    return jax.tree.unflatten(tree, [found[i] for i in range(len(leaves))])


def _groups(leaves: list[Any]) -> list[tuple[Any, list[int]]]:
    """Which leaves are joined, and as what; None for one that is left as it is."""
    groups: dict[Any, list[int]] = {}
    for i, leaf in enumerate(leaves):
        small = leaf.ndim <= 2 and str(leaf.dtype) in KINDS
        groups.setdefault(KINDS[str(leaf.dtype)] if small else i, []).append(i)
    return [(None if isinstance(kind, int) else kind, group) for kind, group in groups.items()]
