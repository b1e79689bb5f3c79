"""Trees of arrays by name, and back, bit for bit: checkpoints, and a trained agent's weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.learner.pack import Pack
    from clew.learner.run import TrainState

STORED_NAMES = {
    "bonus/": "delivery/",
    "runner/actor_memory": "players/acting",
    "runner/critic_memory": "players/valuing",
    "runner/": "players/",
}
"""What checkpoints call a field of the state that has another name here; the first match counts."""

Named = dict[str, np.ndarray]
T = TypeVar("T")


def to_arrays(state: TrainState) -> Named:
    """Every leaf by its path. Random keys become the integers they are made of."""
    return {_stored(name): np.asarray(key_data(leaf)) for name, leaf in named_leaves(state).items()}


def from_arrays(pack: Pack, arrays: Mapping[str, np.ndarray]) -> TrainState:
    """The state that `to_arrays` took apart, if it is one of this pack's."""
    shapes = pack.state_shapes()
    names = {_stored(name): name for name in named_leaves(shapes)}
    ours = {names.get(stored, stored): array for stored, array in arrays.items()}
    return restore(shapes, ours, "a checkpoint of this pack")


def stored_shapes(pack: Pack) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of every array that `to_arrays` would make of a state of this pack."""
    leaves = named_leaves(pack.state_shapes())
    plain = {_stored(name): jax.eval_shape(key_data, leaf) for name, leaf in leaves.items()}
    return {name: (leaf.shape, np.dtype(leaf.dtype)) for name, leaf in plain.items()}


def restore(like: T, arrays: Mapping[str, np.ndarray], what: str) -> T:
    """The tree of these shapes whose leaves are these arrays; `what` is for the error."""
    shapes = named_leaves(like)
    if wrong := sorted(set(shapes) ^ set(arrays)):
        raise BadInput(f"these arrays are not {what}: {wrong[0]} is in only one of them")
    leaves = []
    for name, shape in shapes.items():
        array, plain = arrays[name], jax.eval_shape(key_data, shape)
        if (array.shape, array.dtype) != (plain.shape, plain.dtype):
            raise BadInput(
                f"these arrays are not {what}: {name} is {array.dtype}{array.shape}, "
                f"and should be {plain.dtype}{plain.shape}"
            )
        # a copy: what jax is given must not change under it
        leaves.append(wrap_like(shape, jnp.array(array)))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def named_leaves(tree: PyTree) -> dict[str, jax.Array]:
    """Leaves by their paths, joined by slashes."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(p, simple=True, separator="/"): leaf for p, leaf in leaves}


def key_data(leaf: jax.Array) -> jax.Array:
    """The integers that a random key is made of; any other array as it is. (numpy has no keys.)"""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def wrap_like(like: jax.Array, data: jax.Array) -> jax.Array:
    """The inverse of `key_data`, for a leaf like this one."""
    return jax.random.wrap_key_data(data) if _is_key(like) else data


def _is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _stored(name: str) -> str:
    for ours, stored in STORED_NAMES.items():
        if name.startswith(ours):
            return stored + name.removeprefix(ours)
    return name
