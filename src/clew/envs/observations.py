"""How networks look at a world: once per distinct observation, where that is possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from clew.envs.base import Environment

Y = TypeVar("Y")


@dataclasses.dataclass(frozen=True)
class Observations:
    """The observations of a world as numbers in [0, 1].

    A function of the observation alone takes few values where there is an alphabet: it is
    computed for every symbol, and looked up.
    """

    env: Environment

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one observation."""
        return self.env.obs_shape

    @property
    def size(self) -> int:
        """Numbers in one observation."""
        return int(np.prod(self.shape))

    @cached_property
    def table(self) -> Float[np.ndarray, "symbol ..."] | None:
        """Every observation there is, or None if they are too many to list."""
        alphabet = self.env.alphabet
        return None if alphabet is None else alphabet.astype(np.float32) / self.env.obs_high

    def arrays(self, obs: Shaped[Array, "*batch"]) -> Float[Array, "*batch *obs"]:
        """Observations as numbers, one by one."""
        return jnp.float32(self.env.decode(obs)) / self.env.obs_high

    def through(self, network: Callable[[Array], Y], obs: Shaped[Array, "*batch"]) -> Y:
        """What `network`, a function of flat observations, makes of `obs`."""
        if self.table is not None:
            return look_up(network(jnp.asarray(self.table.reshape(-1, self.size))), obs)
        arrays = self.arrays(obs)
        batch = arrays.shape[: arrays.ndim - len(self.shape)]
        return network(arrays.reshape(*batch, self.size))


def look_up(table: Y, symbols: Int[Array, "*batch"]) -> Y:
    """The rows of every leaf of `table` that `symbols` name."""
    return jax.tree.map(lambda leaf: _take(leaf, symbols), table)


# The transpose of a gather is a scatter, which runs one by one on a CPU and in an order of its own
# on a GPU. As a product with one-hot rows it is fast on both, and always gives the same bits.
@jax.custom_vjp
def _take(table: Shaped[Array, "symbol ..."], symbols: Int[Array, "*batch"]) -> Array:
    return table[symbols]


def _forward(table: Array, symbols: Array) -> tuple[Array, tuple[Array, Array]]:
    return table[symbols], (symbols, jnp.zeros((len(table), 0)))


def _backward(kept: tuple[Array, Array], cotangent: Array) -> tuple[Array, None]:
    symbols, like = kept
    rows = cotangent.reshape(symbols.size, -1)
    hot = jax.nn.one_hot(symbols.reshape(-1), len(like), dtype=rows.dtype)
    total = jnp.einsum("ns,nr->sr", hot, rows)
    return total.reshape(len(like), *cotangent.shape[symbols.ndim :]), None


_take.defvjp(_forward, _backward)
