"""Images that are laid out from square tiles, nearly all of them blank."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8


@dataclasses.dataclass(frozen=True, eq=False)
class Tiles:
    """What a tile can show, and which tiles of each image show anything."""

    pictures: UInt8[np.ndarray, "kind side side channel"]
    """The first is blank: zeros."""
    across: int
    """Tiles along each side of an image."""
    shown: Int[np.ndarray, "symbol part"]
    """What is not blank in each image, as place · kinds + kind; 0 is nothing."""

    @classmethod
    def of(
        cls,
        pictures: UInt8[np.ndarray, "kind side side channel"],
        across: int,
        shown: Int[np.ndarray, "symbol part"],
    ) -> Tiles:
        """Without the pictures that no image shows."""
        place, kind = np.divmod(shown, len(pictures))
        used, kind = np.unique(np.append(0, kind), return_inverse=True)
        kind = kind[1:].reshape(shown.shape)
        return cls(pictures[used], across, (place * len(used) + kind).astype(np.int32))

    def draw(self, shown: Int[np.ndarray, "image part"]) -> UInt8[np.ndarray, "image x y channel"]:
        """The images that show these; no two parts of one may lie on the same tile."""
        place, kind = np.divmod(shown, len(self.pictures))
        kinds = np.zeros((len(shown), self.across**2), np.intp)
        np.maximum.at(kinds, (np.arange(len(shown))[:, None], place), kind)
        side, channels = self.pictures.shape[-2:]
        tiles = self.pictures[kinds].reshape(-1, self.across, self.across, side, side, channels)
        width = self.across * side
        return tiles.swapaxes(2, 3).reshape(-1, width, width, channels)

    def times(self, weights: Float[Array, "pixel out"], high: int) -> Float[Array, "placed out"]:
        """Every kind of tile at every place, over `high`, times the weights of its pixels."""
        kinds, side, _, channels = self.pictures.shape
        weights = weights.reshape(self.across, side, self.across, side, channels, -1)
        pictures = jnp.asarray(self.pictures / high, weights.dtype)
        rows = jnp.einsum("kabc,xaybco->xyko", pictures, weights)
        return rows.reshape(self.across**2 * kinds, -1)
