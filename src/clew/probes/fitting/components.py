"""Features as principal components of the training rows.

A rotation changes no L2 penalty and so no probe. It gives all problems a few shapes and a diagonal
covariance, which makes them well conditioned for the solver.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np

RANK = 256
"""Components that are kept, if there are more features: those with the most variance."""
ITERATIONS = 2
"""Of subspace iteration, where there are more."""
SUBSPACE_ROWS = 4096
"""Rows to find the subspace from."""
NEGLIGIBLE = 1e-6
"""Components with less than this share of the first one's variance are rounding errors: float16 has
3 digits."""
BLOCK = 4096


@dataclass(frozen=True)
class Components:
    """Standardises features and projects them onto principal components."""

    mean: np.ndarray
    projection: np.ndarray
    """[d, k]: standardises, then rotates."""
    variance: np.ndarray
    """Of each component in the training rows, descending."""
    total: int
    """Variance of all components: the number of features that are not constant."""

    @property
    def explained(self) -> float:
        """Share of the variance that the components explain."""
        return min(1.0, float(self.variance.sum()) / self.total)

    @property
    def participation_ratio(self) -> float:
        """(Σλ)² / Σλ². What the components leave out counts as spread evenly."""
        rest, dimensions = self.total - self.variance.sum(), self.total - len(self.variance)
        tail = max(rest, 0.0) ** 2 / dimensions if dimensions else 0.0
        return float(self.total**2 / (np.square(self.variance).sum() + tail))

    def transform(self, features: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The components of some rows, read block by block; not finite where the features are."""
        out = np.empty((len(rows), self.projection.shape[1]), np.float32)
        for start in range(0, len(rows), BLOCK):
            block = features[rows[start : start + BLOCK]].astype(np.float32)
            with np.errstate(invalid="ignore", over="ignore"):
                block -= self.mean
                np.matmul(block, self.projection, out=out[start : start + BLOCK])
        return out


def fit_components(
    features: np.ndarray, rows: np.ndarray, seed: int
) -> tuple[Components, np.ndarray] | str:
    """The components of the training rows, and those rows transformed; or why there are none."""
    if features.shape[1] == 0:
        return "there are no features"
    x = features[rows].astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = x.mean(0, dtype=np.float64).astype(np.float32)
        x -= mean
        deviation = np.sqrt(np.einsum("ij,ij->j", x, x, dtype=np.float64) / len(x))
    if not np.isfinite(deviation).all():
        return "some features are not finite numbers"
    varies = deviation > 1e-6 * np.maximum(np.abs(mean), 1e-6)
    if not varies.any():
        return "all features are constant in the training rows"
    scale = np.where(varies, 1 / np.where(varies, deviation, 1), 0).astype(np.float32)
    x *= scale
    wide = len(mean) > min(RANK, len(x))
    basis = _subspace(x, seed) if wide else np.eye(len(mean), dtype=np.float32)
    z = x @ basis if wide else x
    variance, rotation = np.linalg.eigh(_gram(z) / len(z))
    order = np.argsort(variance)[::-1]
    order = order[variance[order] > NEGLIGIBLE * variance[order[0]]]
    rotation = rotation[:, order].astype(np.float32)
    projection = scale[:, None] * (basis @ rotation)
    return Components(mean, projection, variance[order], int(varies.sum())), z @ rotation


def release_pages(features: np.ndarray) -> None:
    """Free the pages that were read from a memory-mapped file; they count as used memory."""
    if isinstance(features, np.memmap) and features.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        whole = getattr(features, "_mmap", None)
        if whole is not None:
            whole.madvise(mmap.MADV_DONTNEED)


def _subspace(x: np.ndarray, seed: int) -> np.ndarray:
    """Orthonormal columns that nearly span the first `RANK` principal components.

    Fewer rows than that have no more components than rows; their span is exact.
    """
    rng = np.random.default_rng([seed, 3])
    basis = rng.standard_normal((x.shape[1], min(RANK, len(x))), np.float32)
    x = np.ascontiguousarray(x[:: -(-len(x) // SUBSPACE_ROWS)])
    for _ in range(ITERATIONS):
        basis = _orthonormal(x.T @ (x @ basis))
    return basis


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(_gram(columns))
    keep = values > 1e-10 * values[-1]
    return columns @ (vectors[:, keep] / np.sqrt(values[keep])).astype(np.float32)


def _gram(columns: np.ndarray) -> np.ndarray:
    wide = columns.astype(np.float64)
    return wide.T @ wide
