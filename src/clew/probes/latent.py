"""Latents: what is asked of a memory. Hidden facts of a world, as yes-or-no questions."""

from __future__ import annotations

import abc
from typing import Any, Generic, NamedTuple, TypeVar

from jaxtyping import Array, Bool, Int

from clew.envs import Environment
from clew.registry import Registry

S = TypeVar("S")
T = TypeVar("T")


class Asked(NamedTuple):
    """The questions at one step, in the order of `Latent.questions`."""

    asked: Bool[Array, " question"]
    """Whether the question has an answer now; what the others say does not count."""
    answer: Bool[Array, " question"]
    since: Int[Array, " question"]
    """Steps since the answer could last be seen; −1 where that has no meaning."""


class Latent(abc.ABC, Generic[S, T]):
    """The hidden facts of one world.

    A question is asked only where its answer has been seen in this episode and is now out of
    observations: what can be looked up needs no memory, and what was never seen is in none. Every
    question gets probes of its own, as one set of weights cannot answer two.

    A latent must be hashable (a frozen dataclass will do), and its methods jittable: they run
    inside the compiled replay, for one environment at a time.
    """

    @property
    @abc.abstractmethod
    def questions(self) -> tuple[str, ...]:
        """What is asked, in words."""

    @abc.abstractmethod
    def start(self) -> T:
        """What is known before the first observation of an episode: arrays, or a tree of them."""

    @abc.abstractmethod
    def look(self, known: T, state: S) -> tuple[T, Asked]:
        """Called once a step, with the state that the agent sees before it acts."""


latents: Registry[Latent[Any, Any]] = Registry("latent", "clew.probes.latents")
register = latents.register
"""Decorates a latent's class with the name of its world's class; it is made with `env=`."""


def latent_of(env: Environment) -> Latent[Any, Any] | None:
    """What is asked about this world, or None if nobody has said."""
    name = type(env).__name__
    return latents.make(name, env=env) if name in latents.names() else None
