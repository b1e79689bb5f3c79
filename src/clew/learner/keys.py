"""Random keys as plain integers, and back: numpy knows no keys."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def unwrapped(leaf: Any) -> Any:
    """The integers that a key is made of; anything else as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def wrapped(like: Any, value: Any) -> Any:
    """What `unwrapped` made of something like this, put together again."""
    return jax.random.wrap_key_data(value) if _is_key(like) else value


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
