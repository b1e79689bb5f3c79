"""What a perfect memory would hold: the part of an observation that only the past can tell."""

from __future__ import annotations

import abc
from typing import Generic, NamedTuple, TypeVar

from jaxtyping import Array, Bool, Int, Shaped

K = TypeVar("K")


class Known(NamedTuple):
    """An observation, and what the episode so far has shown."""

    obs: Shaped[Array, "*obs"]
    """As the world hands it out."""
    knowledge: Bool[Array, " fact"]
    """In the order of `Knowledge.names`."""


class Knowledge(abc.ABC, Generic[K]):
    """What a perfect memory knows in one world. `Environment.knowledge` returns it.

    It sees what an agent sees, observations and actions, and never the state: so it cannot tell
    more than the history does. Whether it tells all that matters is what
    `clew.machines.check_knowledge` decides.

    It must be hashable (a frozen dataclass will do), and its methods jittable: they run inside the
    compiled rollout, for one environment at a time. Observations are as the world hands them out:
    symbols where it has an alphabet.
    """

    @property
    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """A label for each fact, for people."""

    @property
    def size(self) -> int:
        """How many facts there are."""
        return len(self.names)

    @abc.abstractmethod
    def start(self, obs: Shaped[Array, "*obs"]) -> K:
        """What is remembered after the first observation: arrays, or a tree of them."""

    @abc.abstractmethod
    def look(self, known: K, action: Int[Array, ""], obs: Shaped[Array, "*obs"]) -> K:
        """What is remembered after an action, and the observation that it led to."""

    @abc.abstractmethod
    def array(self, known: K, obs: Shaped[Array, "*obs"]) -> Bool[Array, " fact"]:
        """The facts as a network is given them, beside the latest observation."""
