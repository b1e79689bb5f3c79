"""What a compiled program is made for, and the numbers that are its arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from clew import bonuses, envs, memory
from clew.bonuses import Bonus, OneOf
from clew.envs import Environment, Knowing
from clew.envs.observations import Observations
from clew.learner.agent import Agent, make_agent
from clew.learner.encoders import choose_encoder
from clew.learner.settings import Knobs, Settings
from clew.memory.registry import needs_knowledge
from clew.validate import BadInput, whole_number

Options = Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class Program:
    """Environment, architecture, bonus and settings; hashable, so that jit can tell them apart."""

    env: Environment
    architecture: str
    bonus: Bonus
    settings: Settings = dataclasses.field(default_factory=Settings)
    architecture_options: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(
        cls,
        env: str | Environment,
        architecture: str,
        bonus: str | Bonus = "none",
        settings: Settings | None = None,
        architecture_options: Options | None = None,
    ) -> Program:
        """Environments and bonuses may be given by name."""
        if not isinstance(env, str | Environment):
            spec = getattr(env, "spec", None)
            name = f"gymnasium:{spec.id}" if spec else "gymnasium:ID"
            raise BadInput(
                f"env is of type {type(env).__name__}, and must be a name or what clew.envs.make "
                f'returns; a Gymnasium environment is named "{name}", or "module:function" for a '
                "function that returns it"
            )
        return cls(
            env=envs.make(env) if isinstance(env, str) else env,
            architecture=architecture,
            bonus=bonuses.make(bonus) if isinstance(bonus, str) else bonus,
            settings=settings or Settings(),
            architecture_options=tuple(sorted((architecture_options or {}).items())),
        )

    def __post_init__(self) -> None:
        if jnp.result_type(float) != jnp.float32:
            raise BadInput("training is in 32 bits: unset JAX_ENABLE_X64 (jax_enable_x64)")
        if needs_knowledge(self.architecture) and not isinstance(self.env, Knowing):
            object.__setattr__(self, "env", Knowing(self.env))
        # what cannot be built is refused here, before anything is compiled
        choose_encoder(self.settings.encoder, self.observations)
        jax.eval_shape(self.agent, jax.random.key(0))

    @cached_property
    def observations(self) -> Observations:
        """The world's own observations as the networks' input, without any knowledge."""
        return Observations(self.env.world if isinstance(self.env, Knowing) else self.env)

    @property
    def facts(self) -> int:
        """How many facts of a perfect memory are given; 0 if none are."""
        return self.env.knowledge().size if isinstance(self.env, Knowing) else 0

    @property
    def precision(self) -> str | None:
        """Of matrix products, as `jax.default_matmul_precision` wants it."""
        return None if self.settings.precision == "default" else self.settings.precision

    def agent(self, key: PRNGKeyArray) -> Agent:
        """A new agent."""
        options = dict(self.architecture_options)

        def make_memory(in_size: int, width: int, key: PRNGKeyArray) -> memory.Architecture:
            return memory.make(self.architecture, in_size, width, key=key, **options)

        return make_agent(self.observations, make_memory, self.settings, key, self.facts)


class RunParams(NamedTuple):
    """What makes a run different from the others in its pack; in a pack, one entry a run."""

    seed: UInt32[Array, "*run"]
    prices: Float[Array, "*run event"]
    learning_rate: Float[Array, "*run"]
    gamma: Float[Array, "*run"]
    entropy: Float[Array, "*run"]
    bonus_coef: Float[Array, "*run"]
    which_bonus: Int[Array, "*run"]
    """The number of its bonus, where the program has several (`OneOf`); else it is ignored."""

    @classmethod
    def of(
        cls,
        program: Program,
        seed: int,
        reward: str | Mapping[str, float],
        knobs: Knobs,
        bonus: str | None = None,
    ) -> RunParams:
        """Of one run of this program, with that of its bonuses (`OneOf`), or the first."""
        return cls(
            seed=jnp.uint32(whole_number("seed", seed, 0, 2**32 - 1)),
            prices=jnp.asarray(np.float32(program.env.prices(reward))),
            **{name: jnp.float32(value) for name, value in dataclasses.asdict(knobs).items()},
            which_bonus=jnp.int32(0 if bonus is None else _number(program.bonus, bonus)),
        )


def _number(bonus: Bonus, name: str) -> int:
    if not isinstance(bonus, OneOf):
        raise BadInput(f"bonus={name!r} is not valid; the program has only one, {bonus}")
    return bonus.number(name)
