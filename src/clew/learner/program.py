"""What a compiled program is made for: everything about a run that is not a number in an array."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from clew import bonuses, envs, memory
from clew.bonuses import Bonus
from clew.envs import Environment
from clew.envs.observations import Observations
from clew.learner.agent import Agent, make_agent
from clew.learner.encoders import choose_encoder
from clew.learner.settings import Settings


@dataclasses.dataclass(frozen=True)
class Program:
    """Environment, architecture, bonus and settings; hashable, so that jit can tell them apart."""

    env: Environment
    architecture: str
    bonus: Bonus
    settings: Settings = dataclasses.field(default_factory=Settings)
    architecture_options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        env: str | Environment,
        architecture: str,
        bonus: str | Bonus = "none",
        settings: Settings | None = None,
        architecture_options: Mapping[str, Any] | None = None,
    ) -> Program:
        """Worlds and bonuses may be given by name."""
        return cls(
            env=envs.make(env) if isinstance(env, str) else env,
            architecture=architecture,
            bonus=bonuses.make(bonus) if isinstance(bonus, str) else bonus,
            settings=settings or Settings(),
            architecture_options=tuple(sorted((architecture_options or {}).items())),
        )

    def __post_init__(self) -> None:
        # what cannot be built is refused here, before anything is compiled
        choose_encoder(self.settings.encoder, self.observations)
        jax.eval_shape(self.agent, jax.random.key(0))

    @cached_property
    def observations(self) -> Observations:
        """How its networks look at the world."""
        return Observations(self.env)

    def agent(self, key: PRNGKeyArray) -> Agent:
        """A new agent."""
        options = dict(self.architecture_options)
        settings = self.settings

        def architecture(in_size: int, width: int, key: PRNGKeyArray) -> memory.Architecture:
            return memory.make(self.architecture, in_size, width, key=key, **options)

        return make_agent(
            self.observations,
            architecture,
            encoder=settings.encoder,
            hidden=settings.encoder_hidden,
            encoder_width=settings.encoder_width,
            memory_width=settings.memory_width,
            shared=settings.shared,
            key=key,
        )
