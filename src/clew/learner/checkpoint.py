"""A pack's state as named arrays, and back, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clew.learner.keys import unwrapped, wrapped
from clew.learner.pack import Pack
from clew.learner.run import TrainState
from clew.validate import BadInput

STORED_NAMES = {
    "bonus/": "delivery/",
    "runner/actor_memory": "players/acting",
    "runner/critic_memory": "players/valuing",
    "runner/": "players/",
}
"""What checkpoints call a field of the state that has another name here; the first match counts."""


def to_arrays(state: TrainState) -> dict[str, np.ndarray]:
    """Every leaf by its path. Random keys become the integers they are made of."""
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return {_name(path): np.asarray(unwrapped(leaf)) for path, leaf in leaves}


def from_arrays(pack: Pack, arrays: Mapping[str, np.ndarray]) -> TrainState:
    """The state that `to_arrays` took apart, if it is one of this pack's."""
    paths, structure = jax.tree_util.tree_flatten_with_path(pack.like())
    names = [_name(path) for path, _ in paths]
    if missing := sorted(set(names) ^ set(arrays)):
        raise BadInput(
            f"this is not a checkpoint of this pack: {missing[0]} is in only one of them"
        )
    leaves = [
        _restored(name, leaf, arrays[name]) for name, (_, leaf) in zip(names, paths, strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


def _restored(name: str, like: jax.ShapeDtypeStruct, array: np.ndarray) -> jax.Array:
    plain = jax.eval_shape(unwrapped, like)
    if (array.shape, array.dtype) != (plain.shape, plain.dtype):
        raise BadInput(
            f"this is not a checkpoint of this pack: {name} is {array.dtype}{array.shape}, "
            f"and should be {plain.dtype}{plain.shape}"
        )
    # a copy: what jax is given must not change under it
    return wrapped(like, jnp.array(array))


def _name(path: Any) -> str:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    for ours, stored in STORED_NAMES.items():
        if name.startswith(ours):
            return stored + name.removeprefix(ours)
    return name
