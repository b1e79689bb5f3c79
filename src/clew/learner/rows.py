"""Rows of a table at places known beforehand, and sums of rows, where most rows are named rarely.

`patches.Gather` carries every row's sum through all levels of its tree, which costs little if all
rows have many terms. Here a sum is done with at the level where it is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

FAN = 8


class Rows:
    """Rows of a table at places known beforehand; its gradient adds them up in a fixed order.

    A place past the table's end has a row of zeros. The sums are planned as a tree of at most 8
    terms a node: as parallel as a scatter, and the same bits every time.
    """

    def __init__(self, places: Int[np.ndarray, "*out"], rows: int):
        self.places = places
        self.plan = _plan(places.reshape(-1), rows)

    def __call__(self, table: Float[Array, "row feature"]) -> Float[Array, "*out feature"]:
        """The rows."""
        return _linear(self._take, self._add_up)(table)

    def sums(self, table: Float[Array, "row feature"]) -> Float[Array, "*out feature"]:
        """Their sums over the last axis of the places."""
        every = self.places.shape[-1]
        return _linear(lambda x: self._take(x).sum(-2), lambda y: self._add_up(y, every))(table)

    def transposed(self, terms: Float[Array, "*out feature"]) -> Float[Array, "row feature"]:
        """For each row of a table, the sum of the terms at its places."""
        return _linear(lambda x: self._add_up(x), self._take)(terms)

    def _take(self, table: Float[Array, "row feature"]) -> Float[Array, "*out feature"]:
        return _take_rows(table, self.places)

    def _add_up(self, terms: Float[Array, "*out feature"], repeats: int = 1) -> Array:
        sums = terms.reshape(-1, terms.shape[-1])
        first, *rest = self.plan.levels
        levels = []
        for places in (first // repeats, *rest):
            sums = _take_rows(sums, places).sum(1)
            levels.append(sums)
        return _take_rows(jnp.concatenate(levels), self.plan.sums)


class SumPlan(NamedTuple):
    """Sums as trees, all of them level by level."""

    levels: list[Int[np.ndarray, "sum fan"]]
    """Which terms, then which sums of the level before, are added up."""
    sums: Int[np.ndarray, " row"]
    """Where each row's sum is, counting through all levels; past their end for an empty sum."""


def _plan(targets: Int[np.ndarray, " term"], rows: int) -> SumPlan:
    """Which terms to add up for which row; those past the last row for none."""
    levels, sums, before = [], np.full(rows, -1), 0
    while True:
        counts = np.bincount(targets, minlength=rows + 1)[:rows]
        order = np.argsort(targets, kind="stable")[: counts.sum()]
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        groups = -(-counts // FAN)
        start = np.cumsum(groups) - groups
        shape = (groups.sum(), min(FAN, counts.max()))
        places = np.full(np.maximum(shape, 1), len(targets), np.int32)
        places[np.repeat(start, counts) + rank // FAN, rank % FAN] = order
        levels.append(places)
        done = groups == 1
        sums[done] = before + start[done]
        before += len(places)
        if groups.max() <= 1:
            return SumPlan(levels, np.where(sums < 0, before, sums).astype(np.int32))
        targets = np.repeat(np.where(done, rows, np.arange(rows)), groups)


def _linear(
    function: Callable[[Array], Array], transposed: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """A linear function whose transpose is given, for gradients."""
    f = jax.custom_vjp(function)
    f.defvjp(lambda x: (f(x), None), lambda _, y: (transposed(y),))
    return f


def _take_rows(table: Float[Array, "row feature"], places: Int[np.ndarray, "*out"]) -> Array:
    return table.at[places].get(mode="fill", fill_value=0)
