"""How networks look at a world: once per distinct observation, or tile, where that is possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from clew.envs.base import Environment
from clew.envs.tiles import Tiles

Y = TypeVar("Y")

MOST_LISTED = 2**14
"""How many images laid out from tiles are encoded beforehand: the plan for more would be large."""
LONG = 256
"""Rows of a table whose gradient a GPU computes in bfloat16 units, as exactly."""


@dataclasses.dataclass(frozen=True)
class Observations:
    """The observations of a world as numbers in [0, 1].

    A function of the observation alone takes few values where there is an alphabet: it is
    computed for every symbol, and looked up. Images may be laid out from tiles, nearly all of them
    blank: a linear function of them is computed for every tile, and added up.
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

    @property
    def listed(self) -> bool:
        """Whether every symbol can be encoded beforehand: from a table, or from tiles."""
        return self.table is not None or self.planned_tiles is not None

    @property
    def planned_tiles(self) -> Tiles | None:
        """What images are laid out from, if these are few enough to plan convolutions for."""
        tiles = self.env.tiles
        return tiles if tiles is not None and len(tiles.shown) <= MOST_LISTED else None

    def arrays(self, obs: Shaped[Array, "*batch"]) -> Float[Array, "*batch *obs"]:
        """Observations as numbers, one by one."""
        return jnp.float32(self.env.decode(obs)) / self.env.obs_high

    def flat_table(self, *, linear_first: bool = False) -> Float[Array, "symbol number"]:
        """All of the table, a row each; with `linear_first`, as in `through`, it may be something
        that can be multiplied with a matrix, and nothing else."""
        assert self.table is not None
        if linear_first and self.env.tiles is not None:
            return self._from_tiles(self.env.tiles, jnp.arange(len(self.table)))
        return jnp.asarray(self.table.reshape(-1, self.size))

    def through(
        self,
        network: Callable[[Array], Y],
        obs: Shaped[Array, "*batch"],
        *,
        linear_first: bool = False,
    ) -> Y:
        """What `network`, a function of flat observations, makes of `obs`.

        If all it does to its argument is `x @ matrix`, say `linear_first`: images laid out from
        tiles are then not drawn, and their blank tiles are not multiplied.
        """
        if self.table is not None:
            return look_up(network(self.flat_table(linear_first=linear_first)), obs)
        if linear_first and self.env.tiles is not None:
            return network(self._from_tiles(self.env.tiles, obs))
        arrays = self.arrays(obs)
        batch = arrays.shape[: arrays.ndim - len(self.shape)]
        return network(arrays.reshape(*batch, self.size))

    def _from_tiles(self, tiles: Tiles, obs: Int[Array, "*batch"]) -> Array:
        return cast(Array, TiledImages(tiles, self.env.obs_high, obs))


@dataclasses.dataclass(frozen=True)
class TiledImages:
    """A batch of flat images that can be multiplied with a matrix, and nothing else."""

    tiles: Tiles
    high: int
    """What pixels are divided by."""
    obs: Int[Array, "*batch"]

    def __matmul__(self, weights: Float[Array, "pixel out"]) -> Float[Array, "*batch out"]:
        rows = self.tiles.times(weights, self.high)
        return look_up_sum(rows, jnp.asarray(self.tiles.shown)[self.obs])


def look_up(table: Y, symbols: Int[Array, "*batch"]) -> Y:
    """The rows of every leaf of `table` that `symbols` name."""
    return jax.tree.map(lambda leaf: _take(leaf, symbols), table)


@jax.custom_vjp
def _take(table: Shaped[Array, "symbol ..."], symbols: Int[Array, "*batch"]) -> Array:
    return table[symbols]


def _forward(table: Array, symbols: Array) -> tuple[Array, tuple[Array, Array]]:
    return table[symbols], (symbols, jnp.zeros((len(table), 0)))


def _backward(kept: tuple[Array, Array], cotangent: Array) -> tuple[Array, None]:
    symbols, like = kept
    rows = cotangent.reshape(symbols.size, -1)
    total = _added_up(symbols.reshape(-1, 1), rows, len(like))
    return total.reshape(len(like), *cotangent.shape[symbols.ndim :]), None


_take.defvjp(_forward, _backward)


@jax.custom_vjp
def look_up_sum(
    table: Float[Array, "row feature"], rows: Int[Array, "*batch term"]
) -> Float[Array, "*batch feature"]:
    """Sums of rows of `table`."""
    return table[rows].sum(-2)


def _forward_sum(table: Array, rows: Array) -> tuple[Array, tuple[Array, Array]]:
    return look_up_sum(table, rows), (rows, jnp.zeros((len(table), 0)))


def _backward_sum(kept: tuple[Array, Array], cotangent: Array) -> tuple[Array, None]:
    rows, like = kept
    named, x = (each.reshape(-1, each.shape[-1]) for each in (rows, cotangent))
    return _added_up(named, x, len(like)), None


look_up_sum.defvjp(_forward_sum, _backward_sum)


def _added_up(
    rows: Int[Array, "n term"], x: Float[Array, "n feature"], length: int
) -> Float[Array, "row feature"]:
    """Of a table of this length: each row is the sum of `x` wherever `rows` name it.

    On a CPU a scatter, one row after another. A GPU would add in an order of its own; there it is
    a product with counts, which always gives the same bits. (In a short table splitting `x` costs
    more than it saves.)
    """
    if jax.default_backend() == "cpu":
        return jnp.zeros((length, x.shape[1]), x.dtype).at[rows].add(x[:, None])
    counts = jax.nn.one_hot(rows, length, dtype=x.dtype).sum(1)
    if jax.default_backend() == "gpu" and length >= LONG:
        return product_in_thirds(counts.T, x)
    return counts.T @ x


def product_in_thirds(
    counts: Float[Array, "row n"], x: Float[Array, "n feature"]
) -> Float[Array, "row feature"]:
    """`counts @ x`, where `counts` are small whole numbers, on the bfloat16 units of a GPU.

    It is as exact as in float32: every float32 is the sum of three bfloat16, their products with
    small whole numbers are exact, and sums are made in float32.
    """
    if x.dtype != jnp.float32:
        return counts @ x
    high = jax.lax.reduce_precision(x, 8, 7)
    middle = jax.lax.reduce_precision(x - high, 8, 7)
    thirds = jnp.concatenate((high, middle, x - high - middle), -1).astype(jnp.bfloat16)
    product = jnp.dot(
        counts.astype(jnp.bfloat16),
        thirds,
        precision=jax.lax.Precision.DEFAULT,
        preferred_element_type=jnp.float32,
    )
    return product.reshape(len(counts), 3, -1).sum(1)
