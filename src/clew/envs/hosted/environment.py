"""A Gymnasium environment with the interface of a world."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from clew.envs.base import ALPHABET_BYTES, Environment, Rewards, Step
from clew.envs.hosted.host import UNSTATED
from clew.envs.hosted.recipe import Recipe, registered_limit
from clew.envs.hosted.spaces import (
    Actions,
    Layout,
    action_layout,
    knowledge_layout,
    observation_layout,
    space_words,
)
from clew.envs.knowledge import Knowledge
from clew.envs.latent import Asked, Latent
from clew.validate import BadInput, finite_number, one_of, positive_number, whole_number

VECTORS = ("sync", "async")


@dataclasses.dataclass(frozen=True)
class HostedEnvironment(Environment[Array, tuple[()]]):
    """An environment that steps on the host: `clew.learner` steps copies of it (`Copies`).

    Its events are the reward and the success, once where an episode ends. So rewards are prices
    here as in every world: `native` pays the environment's own reward, `sparse` pays success.
    """

    recipe: Recipe
    success_return: float | None = None
    success_key: str | None = None
    keys: tuple[str, ...] = ()
    obs_scale: float | None = None
    knowledge_key: str | None = None
    latents: tuple[str, ...] = ()
    vector: Literal["sync", "async"] = "sync"

    hosted: ClassVar[bool] = True
    event_names: ClassVar[tuple[str, ...]] = ("reward", "success")
    """reward: what the environment pays for the step.
    success: the episode ended here, and succeeded."""
    rewards: ClassVar[Rewards] = {
        "native": lambda world: {"reward": 1.0},
        "sparse": lambda world: {"success": 1.0},
    }
    # worlds have these in their class; here they are what this environment says
    obs_dtype: ClassVar[Any] = property(lambda self: self.layout.dtype)
    obs_high: ClassVar[Any] = property(lambda self: self.obs_scale or self.layout.scale)

    def __post_init__(self) -> None:
        if self.success_return is not None:
            finite_number("success_return", self.success_return)
            if self.success_key is not None:
                raise BadInput("success_return and success_key are two ways of saying one thing")
        if self.obs_scale is not None:
            positive_number("obs_scale", self.obs_scale)
        if self.recipe.max_episode_steps is not None:
            whole_number("max_episode_steps", self.recipe.max_episode_steps, 1)
        one_of("vector", self.vector, VECTORS)
        # what cannot be trained on is refused here
        object.__setattr__(self, "recipe", self._seen.recipe)

    # What it is ----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Its name."""
        return self.recipe.name

    @property
    def layout(self) -> Layout:
        """Of observations."""
        return self._seen.layout

    @property
    def keys_seen(self) -> tuple[str, ...]:
        """Of a Dict observation, those that an agent sees or is given; empty if all are."""
        given = (self.knowledge_key,) if self.keys and self.knowledge_key else ()
        return (*self.keys, *given)

    @property
    def facts(self) -> Layout | None:
        """Of what a perfect memory would know, if a key holds it."""
        return self._seen.facts

    @property
    def actions(self) -> Actions:
        """From numbers to the environment's own."""
        return self._seen.actions

    @property
    def threshold(self) -> float | None:
        """The return that its makers registered as a success."""
        return self._seen.threshold

    @property
    def modules(self) -> tuple[str, ...]:
        """Whose files it is made of, as far as one copy shows, but for Gymnasium's own."""
        return self._seen.modules

    @property
    def films(self) -> bool:
        """Whether it can draw itself."""
        return self._seen.films

    @property
    def action_names(self) -> tuple[str, ...]:
        """As the environment numbers them."""
        return self.actions.names

    @property
    def horizon(self) -> int:
        """The time limit."""
        return self._seen.horizon

    @property
    def typical_length(self) -> int:
        """Not used: its levels are its own."""
        return self.horizon

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """Of an observation."""
        return self.layout.shape

    @cached_property
    def alphabet(self) -> np.ndarray | None:  # type: ignore[override]
        """One-hot vectors, if the observations are numbers."""
        n = self.layout.symbols
        return None if n is None or n * n > ALPHABET_BYTES else np.eye(n, dtype=np.uint8)

    @property
    def n_symbols(self) -> int | None:
        """Of observations that are numbers."""
        return self.layout.symbols

    def decode(self, obs: Shaped[Array, "*obs"]) -> Shaped[Array, "*array"]:
        """One-hot vectors for symbols."""
        if self.n_symbols is None:
            return obs
        return jnp.float32(obs[..., None] == jnp.arange(self.n_symbols))

    def latent(self) -> Latent[tuple[()], tuple[()]] | None:
        """What stands under the keys of `info` that were named; None if none was."""
        return HostedLatent(self.latents) if self.latents else None

    def knowledge(self) -> Knowledge[Array] | None:
        """What stands under the key that was named; None if none was."""
        return None if self.facts is None else HostedKnowledge(self.title, self.facts.size)

    def describe(self) -> str:
        """In a sentence, for people."""
        seen = self._seen
        limit = f"at most {self.horizon} steps"
        if self.horizon == UNSTATED:
            limit = (
                "no time limit of its own, so state one: environment_options = "
                "{ max_episode_steps = 500 } in a suite, or --environment-options "
                "max_episode_steps=500 for `clew train`"
            )
        return (
            f"Observations {seen.observed}; {len(self.action_names)} actions; {limit}. "
            f"Success: {self._success_words()}."
        )

    @property
    def doubt(self) -> str:
        """Why success may be out of reach, networks may see large numbers, or probes have nothing
        to ask; empty if all is well."""
        from clew.envs.hosted.copies import far_outside, unseen_keys

        return "; ".join(filter(None, (self._out_of_reach(), far_outside(self), unseen_keys(self))))

    def _out_of_reach(self) -> str:
        own, threshold = self._seen.registered, self.threshold
        stated = self.success_return is not None or self.success_key is not None
        if stated or threshold is None or own is None or self.horizon >= own:
            return ""
        return (
            f"{self.title}: unless its info says what a success is, a return of {threshold:g} "
            f"counts as one; that was registered for episodes of {own} steps, and with "
            f"max_episode_steps={self.horizon} it may be out of reach: state success_return too"
        )

    def _success_words(self) -> str:
        if self.success_return is not None:
            return f"a return of at least {self.success_return:g}"
        if self.success_key is not None:
            return f"info[{self.success_key!r}] at the end of an episode"
        said = "info['is_success'] or info['success'] at the end of an episode"
        if self.threshold is None:
            return f"{said}, or else state success_return"
        return f"{said}, or else a return of at least {self.threshold:g}"

    # What happens in it happens elsewhere -----------------------------------------------------

    def level(self, key: PRNGKeyArray) -> Array:
        """Nothing: a level is decided by the seed of a reset."""
        return jnp.uint32(0)

    def start(self, level: Array) -> tuple[tuple[()], Shaped[Array, "*obs"]]:
        """An empty observation, which holds the place of the first one."""
        shape = () if self.n_symbols is not None else self.obs_shape
        return (), jnp.zeros(shape, self.obs_dtype)

    def step(
        self, state: tuple[()], action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[tuple[()], Step]:
        """It cannot be compiled."""
        raise BadInput(
            f"{self.title} steps on the host, so this cannot be done with it; train on it with "
            "clew.learner, or step it with gymnasium"
        )

    def info(self, state: tuple[()]) -> dict[str, Array]:
        """Nothing is kept on the device."""
        return {}

    def picture(self, state: object) -> np.ndarray:
        """The frame that it drew: episodes are kept as frames."""
        return np.asarray(state)

    @cached_property
    def _seen(self) -> _Seen:
        """What one copy says of itself."""
        if self.recipe.makes_vectors:
            env = self.recipe.vector(1)
            spaces = env.single_observation_space, env.single_action_space
        else:
            env = self.recipe()
            spaces = env.observation_space, env.action_space
        try:
            recipe = self.recipe.limited(env)
            name, (observed, acted) = self.title, spaces
            layout = observation_layout(name, observed, self.keys, self.knowledge_key)
            facts = (
                knowledge_layout(name, observed, self.knowledge_key) if self.knowledge_key else None
            )
            spec = getattr(env, "envs", [env])[0].spec
            return _Seen(
                recipe=recipe,
                observed=space_words(observed),
                layout=layout,
                facts=facts,
                actions=action_layout(name, acted),
                horizon=recipe.max_episode_steps or spec.max_episode_steps,  # type: ignore
                registered=None if spec is None else registered_limit(spec.id),
                threshold=None if spec is None else spec.reward_threshold,
                films="rgb_array" in env.metadata.get("render_modes", ())
                and not recipe.makes_vectors,
                modules=recipe.modules(env),
            )
        finally:
            env.close()


class _Seen(NamedTuple):
    recipe: Recipe
    observed: str
    layout: Layout
    facts: Layout | None
    actions: Actions
    horizon: int
    registered: int | None
    """The time limit that its makers registered."""
    threshold: float | None
    films: bool
    modules: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class HostedLatent(Latent[tuple[()], tuple[()]]):
    """Whole numbers of `info`. What they can be is seen when episodes are recorded, on the host."""

    keys: tuple[str, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        """One for each key; a number that takes several values becomes a question for each."""
        return self.keys

    def start(self) -> tuple[()]:
        """Nothing: see `clew.probes.hosted_replay`."""
        return ()

    def look(self, known: tuple[()], state: tuple[()]) -> tuple[tuple[()], Asked]:
        """It cannot be compiled."""
        raise BadInput("what an environment on the host says in its info is recorded on the host")


@dataclasses.dataclass(frozen=True)
class HostedKnowledge(Knowledge[Array]):
    """What the environment itself hands out beside the observation, as numbers."""

    title: str
    facts: int

    @property
    def names(self) -> tuple[str, ...]:
        """Numbered."""
        return tuple(map(str, range(self.facts)))

    def start(self, obs: Shaped[Array, "*obs"]) -> Array:
        """Its place; the environment fills it."""
        return jnp.zeros(self.facts, jnp.float32)

    def look(self, known: Array, action: Int[Array, ""], obs: Shaped[Array, "*obs"]) -> Array:
        """It cannot be computed from observations."""
        raise BadInput(f"{self.title} itself says what a perfect memory would know")

    def array(self, known: Array, obs: Shaped[Array, "*obs"]) -> Float[Array, " fact"]:
        """As it is."""
        return known
