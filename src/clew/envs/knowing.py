"""A world whose observations hold what a perfect memory would know."""

# what is handed on has the types of `Environment`, which pyright does not see
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import dataclasses
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, Shaped

from clew.envs.base import Environment, Step
from clew.envs.knowledge import Knowledge, Known
from clew.envs.latent import Asked, Latent
from clew.validate import BadInput

L = TypeVar("L")
S = TypeVar("S")


class KnowingState(NamedTuple, Generic[S]):
    """The world's state, and what is remembered of the episode."""

    world: S
    known: PyTree[Array]


def _its(name: str) -> Any:
    """What the wrapped world has under this name."""
    return property(attrgetter(f"world.{name}"))


@dataclasses.dataclass(frozen=True)
class Knowing(Environment[L, KnowingState[S]]):
    """`world`, with observations that are `Known`; all else is the world's own."""

    world: Environment[L, S]

    hosted = _its("hosted")
    event_names = _its("event_names")
    obs_dtype = _its("obs_dtype")
    obs_high = _its("obs_high")
    rewards = _its("rewards")
    title = _its("title")
    action_names = _its("action_names")
    horizon = _its("horizon")
    typical_length = _its("typical_length")
    shortest_length = _its("shortest_length")
    obs_shape = _its("obs_shape")
    alphabet = _its("alphabet")
    n_symbols = _its("n_symbols")
    level = _its("level")
    plain = _its("plain")
    prices = _its("prices")
    reward_variants = _its("reward_variants")

    def __post_init__(self) -> None:
        if self.world.knowledge() is None:
            raise BadInput(
                f"{self.world.title} does not say what a perfect memory would know, so it cannot "
                "be given; write its `knowledge` (of a Gymnasium environment, name the key of its "
                "observations that holds it), or choose another world or architecture"
            )

    def knowledge(self) -> Knowledge:
        """What is given."""
        return self._knowledge

    def start(self, level: L) -> tuple[KnowingState[S], Known]:
        """Begin to remember."""
        state, obs = self.world.start(level)
        return self._with(state, self._knowledge.start(obs), obs)

    def step(
        self, state: KnowingState[S], action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[KnowingState[S], Step]:
        """Step the world, and remember what it showed."""
        world, step = self.world.step(state.world, action, key)
        known = self._knowledge.look(state.known, action, step.obs)
        after, obs = self._with(world, known, step.obs)
        return after, step._replace(obs=obs)

    def decode(self, obs: Known | Shaped[Array, "*obs"]) -> Shaped[Array, "*array"]:
        """The world's own observation as an array."""
        return self.world.decode(obs.obs if isinstance(obs, Known) else obs)

    def info(self, state: KnowingState[S]) -> dict[str, Array]:
        """The world's."""
        return self.world.info(state.world)

    def latent(self) -> Latent[KnowingState[S], PyTree[Array]] | None:
        """The world's."""
        return self.asking(self.world.latent())

    def asking(
        self, latent: Latent[S, PyTree[Array]] | None
    ) -> Latent[KnowingState[S], PyTree[Array]] | None:
        """Questions about the world, for states that also hold what is known."""
        return None if latent is None else _OfWorld(latent)

    def picture(self, state: KnowingState[S] | Any) -> np.ndarray:
        """The world's. Of one that steps on the host, a state is the frame that it drew itself."""
        its_own: S = state.world if isinstance(state, KnowingState) else state
        return self.world.picture(its_own)

    @cached_property
    def _knowledge(self) -> Knowledge:
        knowledge = self.world.knowledge()
        assert knowledge is not None
        return knowledge

    def _with(
        self, state: S, known: PyTree[Array], obs: Shaped[Array, "*obs"]
    ) -> tuple[KnowingState[S], Known]:
        return KnowingState(state, known), Known(obs, self._knowledge.array(known, obs))


@dataclasses.dataclass(frozen=True)
class _OfWorld(Latent[KnowingState[S], PyTree[Array]]):
    """A latent of the world, for states that also hold what is known."""

    latent: Latent[S, PyTree[Array]]

    @property
    def questions(self) -> tuple[str, ...]:
        return self.latent.questions

    def start(self) -> PyTree[Array]:
        return self.latent.start()

    def look(self, known: PyTree[Array], state: KnowingState[S]) -> tuple[PyTree[Array], Asked]:
        return self.latent.look(known, state.world)
