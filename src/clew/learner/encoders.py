"""From an observation to a vector: a perceptron, or convolutions for images or for grids."""

from __future__ import annotations

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from clew.envs.observations import Observations, look_up_sum
from clew.layers import Linear, Mlp, mlp, scaled
from clew.learner.patches import Patches, distinct_patches
from clew.learner.settings import ENCODERS
from clew.learner.tiled import TiledPatches, tiled_patches
from clew.validate import BadInput, one_of

CONVOLUTIONS = ((8, 4), (4, 2), (3, 1))
"""Kernel and stride of each."""
CHANNELS = (32, 64, 64)
SMALLEST = {"cnn": 36, "small-cnn": 7}
"""Along a side, for three convolutions."""
GRID_KERNEL, GRID_CHANNELS = 2, (16, 32, 64)


def choose_encoder(kind: str, observations: Observations) -> str:
    """Resolve `auto`; refuse convolutions for observations that are no images, or too small."""
    one_of("encoder", kind, ENCODERS)
    side = min(observations.shape[:2]) if len(observations.shape) == 3 else 0
    if kind == "auto":
        return "cnn" if side >= SMALLEST["cnn"] else "mlp"
    if side < (least := SMALLEST.get(kind, 0)):
        raise BadInput(
            f"encoder={kind!r} is not valid; "
            f"observations of {observations.env.title} have shape "
            f"{observations.shape}, and its convolutions need at least {least}×{least} pixels or "
            "cells: choose 'mlp' or 'auto'"
        )
    return kind


def make_encoder(
    kind: str, observations: Observations, hidden: int, width: int, key: PRNGKeyArray
) -> Encoder:
    """An encoder for this world's observations."""
    match choose_encoder(kind, observations):
        case "cnn":
            return NatureCnn(observations.shape, width, key=key)
        case "small-cnn":
            return GridCnn(observations.shape, width, key=key)
        case _:
            return FlatMlp(mlp(key, observations.size, hidden, hidden, width))


class FlatMlp(eqx.Module):
    """Two hidden layers over the flat observation."""

    network: Mlp

    def encode_table(self, observations: Observations) -> Float[Array, "symbol width"]:
        """Every symbol, as any other array."""
        if observations.table is None:
            return self.encode(observations, jnp.arange(observations.env.n_symbols or 0))
        return self.network(observations.flat_table(linear_first=True))

    def encode(
        self, observations: Observations, obs: Shaped[Array, "*any"]
    ) -> Float[Array, "*batch width"]:
        """Any observations, flattened."""
        return observations.through(self.network, obs, linear_first=True)


class NatureCnn(eqx.Module):
    """Mnih et al. (2015): three convolutions, ReLU after each, and a linear layer.

    Written as matrix products over patches: with weights of their own for every run of a pack,
    convolutions would become grouped ones, which are several times slower.
    """

    convolutions: tuple[Linear, ...]
    """Columns in the order kernel, kernel, channel."""
    out: Linear

    def __init__(self, shape: tuple[int, ...], width: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 4)
        inputs = (shape[-1], *CHANNELS[:-1])
        self.convolutions = tuple(
            scaled(k, out, kernel * kernel * channels, 2**0.5)
            for k, out, (kernel, _), channels in zip(
                keys, CHANNELS, CONVOLUTIONS, inputs, strict=False
            )
        )
        sides = [_side(side) for side in shape[:2]]
        self.out = scaled(keys[3], width, sides[0] * sides[1] * CHANNELS[-1], 2**0.5)

    def encode_table(self, observations: Observations) -> Float[Array, "symbol width"]:
        """Every symbol; each distinct patch is convolved once."""
        if observations.table is None or observations.planned_tiles is not None:
            return self.encode(observations, jnp.arange(observations.env.n_symbols or 0))
        patches = _patches(observations)
        x = jnp.zeros(())
        for layer, weights in zip(patches.layers, self.convolutions, strict=True):
            if layer.gather is None:
                fields = jnp.asarray(layer.pixels)
            else:
                fields = layer.gather(x)
                fields = fields.reshape(len(fields), -1)
            x = jax.nn.relu(weights(fields))
        x = patches.images(x)
        return self.out(x.reshape(len(x), -1))

    def encode(
        self, observations: Observations, obs: Shaped[Array, "*any"]
    ) -> Float[Array, "*batch width"]:
        """Any observations; images from tiles as sums of what their parts add."""
        if observations.planned_tiles is None:
            return self.encode_arrays(observations.arrays(obs))
        patches = _tiled_patches(observations)
        nothing, rows = patches.encode(self.convolutions, self.out)
        return look_up_sum(rows, jnp.asarray(patches.summed)[obs]) + nothing

    def encode_arrays(
        self, arrays: Float[Array, "*batch height width channel"]
    ) -> Float[Array, "*batch width"]:
        """A batch of images of any shape."""
        batch = arrays.shape[:-3]
        x = arrays.reshape(-1, *arrays.shape[-3:])
        for weights, (kernel, stride) in zip(self.convolutions, CONVOLUTIONS, strict=True):
            x = jax.nn.relu(weights(windows(x, kernel, stride)))
        return self.out(x.reshape(*batch, -1))


class GridCnn(eqx.Module):
    """Three convolutions of 2×2, ReLU after each, the largest of 2×2 after the first, and a linear
    layer: what MiniGrid's 7×7 view is often read with.
    """

    convolutions: tuple[Linear, ...]
    """Columns in the order kernel, kernel, channel."""
    out: Linear

    def __init__(self, shape: tuple[int, ...], width: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 4)
        inputs = (shape[-1], *GRID_CHANNELS[:-1])
        self.convolutions = tuple(
            scaled(k, out, GRID_KERNEL**2 * channels, 2**0.5)
            for k, out, channels in zip(keys, GRID_CHANNELS, inputs, strict=False)
        )
        rows, columns = ((side - 1) // 2 - 2 for side in shape[:2])
        self.out = scaled(keys[3], width, rows * columns * GRID_CHANNELS[-1], 2**0.5)

    def encode_table(self, observations: Observations) -> Float[Array, "symbol width"]:
        """Every symbol, as any other array."""
        return self.encode(observations, jnp.arange(observations.env.n_symbols or 0))

    def encode(
        self, observations: Observations, obs: Shaped[Array, "*any"]
    ) -> Float[Array, "*batch width"]:
        """A batch of grids of any shape."""
        arrays = observations.arrays(obs)
        batch = arrays.shape[:-3]
        x = arrays.reshape(-1, *arrays.shape[-3:])
        for n, weights in enumerate(self.convolutions):
            x = jax.nn.relu(weights(windows(x, GRID_KERNEL, 1)))
            if n == 0:
                seen = windows(x, 2, 2)
                x = seen.reshape(*seen.shape[:-1], 4, -1).max(-2)
        return self.out(x.reshape(*batch, -1))


Encoder = FlatMlp | NatureCnn | GridCnn


def windows(
    x: Float[Array, "image h w c"], kernel: int, stride: int
) -> Float[Array, "image a b p"]:
    """The patches that a convolution sees, by slicing: entries in the order kernel, kernel, c."""
    rows, columns = ((side - kernel) // stride + 1 for side in x.shape[1:3])
    parts = [
        x[:, i : i + rows * stride : stride, j : j + columns * stride : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return jnp.concatenate(parts, -1)


def _side(side: int) -> int:
    for kernel, stride in CONVOLUTIONS:
        side = (side - kernel) // stride + 1
    return side


@cache
def _patches(observations: Observations) -> Patches:
    assert observations.table is not None
    return distinct_patches(observations.table, CONVOLUTIONS)


@cache
def _tiled_patches(observations: Observations) -> TiledPatches:
    tiles = observations.planned_tiles
    assert tiles is not None
    return tiled_patches(tiles, observations.env.obs_high, CONVOLUTIONS)
