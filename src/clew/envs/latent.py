"""What probes ask of a memory: hidden facts of a world, as yes-or-no questions."""

from __future__ import annotations

import abc
from typing import Generic, NamedTuple, TypeVar

from jaxtyping import Array, Bool, Int

S = TypeVar("S")
K = TypeVar("K")


class Asked(NamedTuple):
    """The questions at one step, in the order of `Latent.questions`."""

    asked: Bool[Array, " question"]
    """Whether the question has an answer now; where it has none, `answer` does not count."""
    answer: Bool[Array, " question"]
    since: Int[Array, " question"]
    """Steps since the answer could last be seen; −1 where that has no meaning."""


class Latent(abc.ABC, Generic[S, K]):
    """The hidden facts of one world. `Environment.latent` returns it.

    A question is asked only where its answer has been seen in this episode and is out of sight
    now: what can be looked up needs no memory, and what was never seen is in none. Every question
    gets probes of its own, as one set of weights cannot answer two.

    A latent must be hashable (a frozen dataclass will do), and its methods jittable: they run
    inside the compiled replay, for one environment at a time.
    """

    @property
    @abc.abstractmethod
    def questions(self) -> tuple[str, ...]:
        """What is asked, in words."""

    @abc.abstractmethod
    def start(self) -> K:
        """What is known before the first observation of an episode: arrays, or a tree of them."""

    @abc.abstractmethod
    def look(self, known: K, state: S) -> tuple[K, Asked]:
        """Called once a step, with the state that the agent sees before it acts."""
