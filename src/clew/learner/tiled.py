"""Convolutions over images laid out from tiles: what each part adds is computed once.

MysteryPath with its goal drawn has 8,736 images: an agent and a goal. Convolutions and the linear
layer after them see an agent or a goal where their receptive field holds one, so

    e(agent, goal) = e(nothing) + Δ(agent) + Δ(goal) + Δ(agent, goal)

where the last is a sum over the places whose receptive field holds both: 16,536 of all images'
428,064. Each Δ is a row of a table, and an image's encoding the sum of three and e(nothing).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from clew.envs.tiles import Tiles
from clew.layers import Linear
from clew.learner.patches import distinct_fields
from clew.learner.rows import Rows

BLOCK = 256
"""Slots that are multiplied with the same weights, at most."""


class TiledPatches(NamedTuple):
    """The distinct receptive fields of each convolution, and how rows are summed from the last.

    A row is what one part adds to an image, or what several add that meet there. A slot is one
    place of a row: its receptive field holds the part, or those that meet. Slots of the same place
    stand in blocks, for they are multiplied with the same weights.
    """

    pixels: Float[np.ndarray, "field pixel"]
    """The first convolution's fields."""
    later: tuple[Rows, ...]
    """Of the others: field, position → product of a field before it and the position's weights."""
    blank: tuple[int, ...]
    """Each convolution's field that holds nothing."""
    whole: Rows
    """block, slot → its field."""
    single: Rows
    """The fields of parts by themselves, among all."""
    parts: Rows
    """block, slot, part → the field, among those, of each part where several meet."""
    weights: Rows
    """block → its place."""
    rows: Rows
    """block, slot → its row."""
    summed: Int[np.ndarray, "symbol term"]
    """The rows that each image is the sum of."""

    def encode(
        self, convolutions: tuple[Linear, ...], out: Linear
    ) -> tuple[Float[Array, " width"], Float[Array, "row width"]]:
        """The encoding of nothing, and what each row adds to it."""
        first, *later = convolutions
        x = jax.nn.relu(first(jnp.asarray(self.pixels)))
        for layer, blank, gather in zip(later, self.blank[:-1], self.later, strict=True):
            empty, x = x[blank], x - x[blank]
            weights = layer.weight.reshape(len(layer.weight), -1, len(empty))
            products = jnp.einsum("fc,opc->fpo", x, weights).reshape(-1, len(weights))
            nothing = layer(jnp.tile(empty, weights.shape[1]))
            x = jax.nn.relu(nothing + gather.sums(products))
        empty, x = x[self.blank[-1]], x - x[self.blank[-1]]
        weights = out.weight.reshape(len(out.weight), -1, len(empty))
        nothing = out(jnp.tile(empty, weights.shape[1]))
        weights = self.weights(weights.swapaxes(0, 1).reshape(weights.shape[1], -1))
        weights = weights.reshape(len(weights), -1, len(empty))
        slots = self.whole(x)
        if self.parts.places.shape[-1] > 1:  # or else none meet
            slots -= self.parts.sums(self.single(x))
        return nothing, self.rows.transposed(jnp.einsum("bsc,boc->bso", slots, weights))


def tiled_patches(tiles: Tiles, high: int, shapes: tuple[tuple[int, int], ...]) -> TiledPatches:
    """Plan convolutions of these (kernel, stride) over all images, their pixels over `high`."""
    placed, part = np.unique(np.append(0, tiles.shown), return_inverse=True)
    part = part[1:].reshape(len(tiles.shown), -1)
    one_each = np.zeros((len(placed), part.shape[1]), np.int32)
    one_each[:, 0] = placed
    pixels, later, where = _fields(tiles, high, np.concatenate((one_each, tiles.shown)), shapes)
    alone, where = np.split(where, [len(placed)])
    products, blank = _products(pixels, later)
    fields, seen = len(later[-1]), alone != blank[-1]
    meets = seen[part].sum(1) > 1
    rows = len(placed) + meets.any(1).sum()
    of_image = np.where(meets.any(1), len(placed) + np.cumsum(meets.any(1)) - 1, 0)
    # slots: where a part is alone, then where parts meet
    image, place_met = np.nonzero(meets)
    row, place = np.concatenate([np.nonzero(seen), (of_image[image], place_met)], 1)
    single, number = np.unique(alone, return_inverse=True)
    number = np.where(seen, number.reshape(alone.shape), len(single))
    met = number[part[image], place_met[:, None]]
    none_met = np.full((seen.sum(), part.shape[1]), len(single))
    block_place, slots = _blocks(place)

    def in_blocks(values: np.ndarray, empty: int) -> np.ndarray:
        return np.append(values, np.full_like(values[:1], empty), 0)[slots].astype(np.int32)

    return TiledPatches(
        pixels=pixels,
        later=products,
        blank=blank,
        whole=Rows(in_blocks(np.append(alone[seen], where[meets]), fields), fields),
        single=Rows(single, fields),
        parts=Rows(in_blocks(np.concatenate((none_met, met)), len(single)), len(single)),
        weights=Rows(block_place, seen.shape[1]),
        rows=Rows(in_blocks(row, rows), rows),
        summed=np.column_stack((part, of_image)).astype(np.int32),
    )


def _fields(
    tiles: Tiles,
    high: int,
    shown: Int[np.ndarray, "image part"],
    shapes: tuple[tuple[int, int], ...],
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """`distinct_fields` of these images, whose colours are numbered so that they fit."""
    pictures = tiles.pictures
    flat = pictures.reshape(-1, pictures.shape[-1])
    colours, number = np.unique(flat, axis=0, return_inverse=True)
    number = number.astype(np.uint8).reshape(*pictures.shape[:-1], 1)
    images = Tiles(number, tiles.across, tiles.shown).draw(shown)
    pixels, later, where = distinct_fields(images, shapes)
    return np.float32(colours[pixels] / high).reshape(len(pixels), -1), later, where


def _products(
    pixels: Float[np.ndarray, "field pixel"], later: list[Int[np.ndarray, "field part"]]
) -> tuple[tuple[Rows, ...], tuple[int, ...]]:
    """Which products each convolution but the first adds up, and every one's field of nothing."""
    products, blank = [], [int(np.flatnonzero(~pixels.any(1))[0])]
    for before, parts in zip((pixels, *later), later, strict=False):
        positions = parts.shape[1]
        shown = np.where(parts == blank[-1], len(before), parts)
        products.append(Rows(shown * positions + np.arange(positions), len(before) * positions))
        blank.append(int(np.flatnonzero((parts == blank[-1]).all(1))[0]))
    return tuple(products), tuple(blank)


def _blocks(
    place: Int[np.ndarray, " slot"],
) -> tuple[Int[np.ndarray, " block"], Int[np.ndarray, "block slot"]]:
    """Slots of the same place in blocks: each block's place, and which slots, −1 for none."""
    order, counts = np.argsort(place, kind="stable"), np.bincount(place)
    size = min(BLOCK, -(-counts.max(initial=1) // 32) * 32)
    blocks = -(-counts // size)
    start = size * np.repeat(np.cumsum(blocks) - blocks, counts)
    rank = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = np.full(size * blocks.sum(), -1)
    slots[start + rank] = order
    return np.repeat(np.arange(len(counts)), blocks), slots.reshape(-1, size)
