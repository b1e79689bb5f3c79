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

    def seen(self, symbol: int) -> str:
        """An observation in words, by its symbol. Distinct ones need distinct words."""
        return f"o{symbol}"

    @property
    def draws(self) -> int:
        """From how many random draws the levels' probabilities are; 0 if they are the world's."""
        return 0

    def with_draws(self, draws: int) -> Enumeration[S]:
        """The same world, with the levels of so many draws."""
        raise BadInput(f"draws={draws} is not valid: the levels of this world are not drawn")

    @property
    def note(self) -> str:
        """What has to be known beside an answer: signs in `seen`, what is not quite the world."""
        return ""

    def smaller(self) -> Mapping[str, object]:
        """Options that make a smaller world of the same kind; none if this one is small enough."""
        return {}


def refuse_many(count: int, what: str) -> None:
    """Raise an error if so many levels or states cannot be enumerated."""
    if count > LIMIT:
        raise BadInput(f"{what}; at most {LIMIT:,} are enumerated, so choose a smaller world")
