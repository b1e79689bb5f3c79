"""Convolution over an alphabet of images: every distinct patch once.

For worlds whose images are not laid out from tiles (else `tiled` is faster).

Images of one world repeat themselves: MysteryPath's 364 have 145,600 patches of 8×8 pixels, of
which 65 differ. A layer's output is a function of its receptive field alone, so each layer is one
matrix product over its distinct receptive fields, and a gather of known places feeds the next.
The same numbers, a fourteenth of the arithmetic, and nothing but matrix products when every run of
a pack has weights of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

FAN = 32


class Gather:
    """Rows of a table at places known beforehand; its gradient adds them up in a fixed order.

    The sums are planned as a tree of at most 32 terms a node: as parallel as a scatter, and the
    same bits every time.
    """

    def __init__(self, places: Int[np.ndarray, "*out"], rows: int):
        self.places = places
        self.plan = _plan(places.reshape(-1), rows)

    def __call__(self, table: Float[Array, "row feature"]) -> Float[Array, "*out feature"]:  # noqa: D102
        @jax.custom_vjp
        def take(table: Array) -> Array:
            return table[self.places]

        take.defvjp(
            lambda table: (take(table), None), lambda _, cotangent: (self._gradient(cotangent),)
        )
        return take(table)

    def _gradient(self, cotangent: Float[Array, "*out feature"]) -> Float[Array, "row feature"]:
        terms = cotangent.reshape(-1, cotangent.shape[-1])
        for places in self.plan:
            padded = jnp.concatenate((terms, jnp.zeros_like(terms[:1])))
            terms = padded[places].sum(1)
        return terms


class Layer(NamedTuple):
    """One convolution's distinct receptive fields."""

    gather: Gather | None
    """Their parts among the last layer's distinct outputs; None for the first layer."""
    pixels: Float[np.ndarray, "field pixel"] | None
    """The first layer's fields, as pixels."""


class Patches(NamedTuple):
    """The distinct receptive fields of each layer, and where the last ones lie in each image."""

    layers: tuple[Layer, ...]
    images: Gather
    """image, place → distinct output of the last layer."""


def distinct_patches(
    images: Float[np.ndarray, "image height width channel"], shapes: tuple[tuple[int, int], ...]
) -> Patches:
    """Plan convolutions of these (kernel, stride) over these images."""
    pixels, later, where = distinct_fields(images, shapes)
    layers, rows = [Layer(None, pixels)], len(pixels)
    for parts in later:
        layers.append(Layer(Gather(parts, rows), None))
        rows = len(parts)
    return Patches(tuple(layers), Gather(where, rows))


def distinct_fields(
    images: Shaped[np.ndarray, "image height width channel"], shapes: tuple[tuple[int, int], ...]
) -> tuple[
    Shaped[np.ndarray, "field pixel"],
    list[Int[np.ndarray, "field part"]],
    Int[np.ndarray, "image place"],
]:
    """The first convolution's distinct receptive fields, as pixels; the next ones', each made of
    parts among the fields before; and which of the last ones lies at each place."""
    pixels, where = _distinct(_windows(images, *shapes[0]))
    later = []
    for kernel, stride in shapes[1:]:
        parts, where = _distinct(_windows(where[..., None], kernel, stride))
        later.append(parts)
    return pixels, later, where.reshape(len(images), -1)


def _windows(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    """[image, row, column, kernel·kernel·channel], entries in the order kernel, kernel, channel."""
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))
    view = np.moveaxis(view[:, ::stride, ::stride], 3, -1)
    return view.reshape(*view.shape[:3], -1)


def _distinct(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows in the order of their bytes, and which of them stands at each place."""
    flat = np.ascontiguousarray(windows.reshape(-1, windows.shape[-1]))
    # Millions of long rows are compared by a 64-bit hash first; few are left to sort by content.
    words = flat.view(np.uint32).astype(np.uint64)
    weights = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) | 1
    _, found, inverse = np.unique(words @ weights, return_index=True, return_inverse=True)
    if not np.array_equal(flat[found][inverse], flat):
        raise AssertionError("two different patches have one hash")
    rows = flat[found]
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, index, rank = np.unique(as_bytes, return_index=True, return_inverse=True)
    return rows[index], rank[inverse].reshape(windows.shape[:3]).astype(np.int32)


def _plan(targets: Int[np.ndarray, " term"], rows: int) -> list[Int[np.ndarray, "sum fan"]]:
    """Sums of sums: at each level every target's terms in groups, until one is left for each."""
    plan = []
    while True:
        order = np.argsort(targets, kind="stable")
        counts = np.bincount(targets, minlength=rows)
        rank = np.arange(len(targets)) - np.repeat(np.cumsum(counts) - counts, counts)
        groups = np.maximum(-(-counts // FAN), 1)  # a target without terms is an empty sum
        group = np.repeat(np.cumsum(groups) - groups, counts) + rank // FAN
        width = min(FAN, max(int(counts.max(initial=1)), 1))
        places = np.full((groups.sum(), width), len(targets), np.int32)
        places[group, rank % FAN] = order
        plan.append(places)
        if groups.max() == 1:
            return plan
        targets = np.repeat(np.arange(rows), groups)
