"""How `clew.machines` reads a world: its levels, and the variables that tell states apart."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from clew.validate import BadInput

if TYPE_CHECKING:  # jaxtyping imports jax, which `clew.machines` does without
    import numpy as np
    from jaxtyping import PyTree

S = TypeVar("S")

LIMIT = 200_000
"""States that are enumerated at most, unless asked for more."""


class Enumeration(abc.ABC, Generic[S]):
    """A world as a finite POMDP. `Environment.enumeration` returns it."""

    @abc.abstractmethod
    def levels(self) -> Iterable[tuple[PyTree[np.ndarray], Fraction]]:
        """Every level, of numpy's arrays, with its probability."""

    @abc.abstractmethod
    def variables(self, state: S) -> Mapping[str, Hashable]:
        """The latent variables of a state by name; states with equal values must behave alike."""

    @property
    def note(self) -> str:
        """Where it is not quite the world, to be said beside whatever is proved of it."""
        return ""

    def smaller(self) -> Mapping[str, object]:
        """Options that make a smaller world of the same kind; none if this one is small enough."""
        return {}


def refuse_many(count: int, what: str) -> None:
    """Raise an error if so many levels or states cannot be enumerated."""
    if count > LIMIT:
        raise BadInput(f"{what}; at most {LIMIT:,} are enumerated, so choose a smaller world")
