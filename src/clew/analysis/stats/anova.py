"""Factorial analysis of variance: any number of factors, balanced or not, with effect sizes.

Sums of squares are of type III over sum-to-zero contrasts: what a term explains beyond all others.
In a balanced design that is the classical decomposition.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from clew.analysis.stats.task import Values

Codes = NDArray[np.int64]
ROUNDING = 1e-12
"""Of sums of squares, which are differences of larger ones: what equal seeds leave."""


@dataclasses.dataclass(frozen=True)
class Effect:
    """One line of the table."""

    factors: tuple[str, ...]
    ss: float
    df: int
    f: float
    p: float
    """Of the F distribution; the permutation p is in `interaction.py`."""
    omega2: float
    """Share of all variance, corrected for chance: (SS − df·MSE) / (SS_total + MSE)."""
    partial_omega2: float
    """… of what no other effect explains: df(F − 1) / (df(F − 1) + N)."""


@dataclasses.dataclass(frozen=True)
class Anova:
    """The table."""

    effects: tuple[Effect, ...]
    residual_ss: float
    residual_df: int
    n: int
    why_not: str = ""
    """Where F is NaN: the reason, in words."""

    def __getitem__(self, factors: tuple[str, ...]) -> Effect:
        return next(e for e in self.effects if e.factors == factors)


class Design:
    """The contrasts of a factorial design, made once for many responses."""

    def __init__(self, factors: Mapping[str, Codes]):
        self.terms = _terms(tuple(factors))
        main = {name: _contrasts(codes) for name, codes in factors.items()}
        self._blocks = {term: _product([main[f] for f in term]) for term in self.terms}
        self.n = len(next(iter(factors.values())))
        self.df = {term: block.shape[1] for term, block in self._blocks.items()}
        self._full = _basis([np.ones((self.n, 1)), *self._blocks.values()])
        self._beyond: dict[tuple[str, ...], Values] = {}
        self.residual_df = self.n - self._full.shape[1]
        self.complete = self._full.shape[1] == 1 + sum(self.df.values())

    def explained(self, y: Values, term: tuple[str, ...]) -> tuple[Values, Values]:
        """Sum of squares of `term`, and the residual's, for responses [..., observation]."""
        y = y - y.mean(-1, keepdims=True)
        ss = np.sum((y @ self.beyond(term)) ** 2, -1)
        residual = np.sum(y**2, -1) - np.sum((y @ self._full) ** 2, -1)
        return ss, np.maximum(residual, 0.0)

    def beyond(self, term: tuple[str, ...]) -> Values:
        """Orthonormal directions that `term` has and no other term."""
        if term not in self._beyond:
            others = [block for t, block in self._blocks.items() if t != term]
            rest = _basis([np.ones((self.n, 1)), *others])
            block = self._blocks[term]
            self._beyond[term] = _basis([block - rest @ (rest.T @ block)])
        return self._beyond[term]

    def f(self, ss: Values, residual: Values, term: tuple[str, ...]) -> Values:
        """F of `term` from what `explained` gives."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (ss / self.df[term]) / (residual / self.residual_df)


def anova(y: Values, design: Design) -> Anova:
    """The analysis of `y` by the factors of `design`."""
    parts = {term: design.explained(y, term) for term in design.terms}
    residual = float(next(iter(parts.values()))[1])
    total = float(np.sum((y - y.mean()) ** 2))
    why = _why_not(design, residual, total)
    df = design.residual_df
    mse = residual / df if not why else math.nan
    effects = tuple(
        _effect(t, float(ss), design.df[t], mse, total, design.n, df)
        for t, (ss, _) in parts.items()
    )
    return Anova(effects, residual, df, design.n, why)


def _why_not(design: Design, residual: float, total: float) -> str:
    if not design.complete:
        return "a combination of factors has no run, so that the terms cannot be told apart"
    if design.residual_df < 1:
        return "there is one seed per arm, so that nothing is left to judge the effects by"
    if residual <= ROUNDING * max(total, 1.0):
        return "the seeds of every arm are equal, so that F is not defined"
    return ""


def _effect(
    term: tuple[str, ...], ss: float, df: int, mse: float, total: float, n: int, residual_df: int
) -> Effect:
    f = ss / df / mse
    gain = df * (f - 1)
    return Effect(
        factors=term,
        ss=ss,
        df=df,
        f=f,
        p=float(stats.f.sf(f, df, residual_df)),
        omega2=(ss - df * mse) / (total + mse),
        partial_omega2=gain / (gain + n),
    )


def _terms(factors: Sequence[str]) -> list[tuple[str, ...]]:
    sizes = range(1, len(factors) + 1)
    return [term for size in sizes for term in itertools.combinations(factors, size)]


def _contrasts(codes: Codes) -> Values:
    """Sum-to-zero: level k against the last."""
    levels = np.unique(codes)
    last = codes == levels[-1]
    return np.stack([(codes == k) - 1.0 * last for k in levels[:-1]], -1)


def _product(blocks: Sequence[Values]) -> Values:
    product = blocks[0]
    for block in blocks[1:]:
        product = (product[:, :, None] * block[:, None, :]).reshape(len(product), -1)
    return product


def _basis(blocks: Sequence[Values]) -> Values:
    """Orthonormal columns that span the blocks."""
    made = linalg.qr(np.concatenate(blocks, 1), mode="economic", pivoting=True)
    q, r, _ = cast(tuple[Values, Values, Codes], made)
    sizes = np.abs(np.diag(r))
    return q[:, sizes > 1e-9 * sizes[0]]
