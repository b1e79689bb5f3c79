"""A world whose observations hold what a perfect memory would know."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, Shaped

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


@dataclasses.dataclass(frozen=True)
class Knowing(Environment[L, KnowingState[S]]):
    """`world`, with observations that are `Known`; all else is the world's own."""

    world: Environment[L, S]

    # the classes of worlds have these; here they are the wrapped world's
    hosted: ClassVar[Any] = property(lambda self: self.world.hosted)
    event_names: ClassVar[Any] = property(lambda self: self.world.event_names)
    obs_dtype: ClassVar[Any] = property(lambda self: self.world.obs_dtype)
    obs_high: ClassVar[Any] = property(lambda self: self.world.obs_high)
    rewards: ClassVar[Any] = property(lambda self: self.world.rewards)

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

    @property
    def title(self) -> str:
        """The world's."""
        return self.world.title

    @property
    def action_names(self) -> tuple[str, ...]:
        """The world's."""
        return self.world.action_names

    @property
    def horizon(self) -> int:
        """The world's."""
        return self.world.horizon

    @property
    def typical_length(self) -> int:
        """The world's."""
        return self.world.typical_length

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """Of the world's own observation."""
        return self.world.obs_shape

    @property
    def alphabet(self) -> np.ndarray | None:
        """Of the world's own observations."""
        return self.world.alphabet

    @property
    def n_symbols(self) -> int | None:
        """Of the world's own observations."""
        return self.world.n_symbols

    def level(self, key: PRNGKeyArray) -> L:
        """The world's."""
        return self.world.level(key)

    def start(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, level: L
    ) -> tuple[KnowingState[S], Known]:
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

    def plain(self, info: dict[str, Any]) -> dict[str, Any]:
        """The world's."""
        return self.world.plain(info)

    def latent(self) -> Latent[KnowingState[S], PyTree[Array]] | None:
        """The world's."""
        return self.asking(self.world.latent())

    def asking(
        self, latent: Latent[S, PyTree[Array]] | None
    ) -> Latent[KnowingState[S], PyTree[Array]] | None:
        """Questions about the world, for states that also hold what is known."""
        return None if latent is None else _OfWorld(latent)

    def picture(self, state: KnowingState[S]) -> np.ndarray:
        """The world's."""
        return self.world.picture(state.world)

    def prices(self, reward: str | Mapping[str, float]) -> Float[np.ndarray, " event"]:
        """The world's."""
        return self.world.prices(reward)

    def reward_variants(self) -> dict[str, Mapping[str, float]]:
        """The world's."""
        return self.world.reward_variants()

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
