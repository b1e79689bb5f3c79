"""Several bonuses in one program, of which each run is paid by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from clew.bonuses.base import Bonus, Transitions
from clew.envs.observations import Observations
from clew.validate import BadInput, known_names


class OneOfState(NamedTuple):
    """By the names of the bonuses, so that a checkpoint says which they are."""

    chosen: dict[str, Bool[Array, ""]]
    """Whether it is this one that pays the run."""
    states: dict[str, PyTree[Array]]


@dataclasses.dataclass(frozen=True)
class OneOf(Bonus[OneOfState]):
    """One of several bonuses: which one is a number of the run, and not compiled in.

    So runs with different bonuses can be trained in one program, which is worth it on an
    accelerator: larger packs fill it better. All the bonuses are computed for every run, each with
    the key that it would have alone, and the scores of one are taken: a run is the same as in the
    program of its own bonus, but for rounding.
    """

    parts: tuple[tuple[str, Bonus], ...] = ()
    """Names and bonuses, in the order of the names."""
    normalise: bool = dataclasses.field(default=True, init=False)
    """As the parts have it, all the same."""
    clip: float = dataclasses.field(default=10.0, init=False)
    """As the parts have it, all the same."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadInput("parts=() is not valid; it must have at least one bonus")
        object.__setattr__(self, "parts", tuple(sorted(self.parts, key=lambda part: part[0])))
        if len(set(self.names)) < len(self.parts):
            raise BadInput(f"parts={list(self.names)} is not valid; it has a name twice")
        if any(isinstance(bonus, OneOf) for _, bonus in self.parts):
            raise BadInput("a part is itself one of several bonuses; name all of them at once")
        for field in ("normalise", "clip"):
            values = {getattr(bonus, field) for _, bonus in self.parts}
            if len(values) > 1:
                raise BadInput(f"bonuses in one program must have the same {field}, not {values}")
            object.__setattr__(self, field, values.pop())
        super().__post_init__()

    @classmethod
    def of(cls, parts: Mapping[str, Bonus]) -> OneOf:
        """Bonuses by name; any names will do, those of a checkpoint must be the same again."""
        return cls(parts=tuple(parts.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bonuses, in the order of their numbers."""
        return tuple(name for name, _ in self.parts)

    def number(self, name: str) -> int:
        """Of the bonus with this name, for `choose`."""
        known_names("bonus of this program", [name], self.names)
        return self.names.index(name)

    def init(self, observations: Observations, envs: int, key: PRNGKeyArray) -> OneOfState:
        """The first one pays, until another is chosen."""
        states = {name: bonus.init(observations, envs, key) for name, bonus in self.parts}
        return self.choose(OneOfState({}, states), jnp.int32(0))

    def choose(self, state: OneOfState, number: Int[Array, ""]) -> OneOfState:
        """Let the bonus with this number pay."""
        return state._replace(chosen={name: number == i for i, name in enumerate(self.names)})

    def score(
        self, observations: Observations, state: OneOfState, transitions: Transitions
    ) -> tuple[OneOfState, Float[Array, "time env"]]:
        """The scores of the chosen one."""
        scored = {
            name: bonus.score(observations, state.states[name], transitions)
            for name, bonus in self.parts
        }
        scores = jnp.select(
            [state.chosen[name] for name in self.names], [scored[name][1] for name in self.names]
        )
        return state._replace(states={name: after for name, (after, _) in scored.items()}), scores

    def paid(self, state: OneOfState, transitions: Transitions) -> Bool[Array, "time env"] | None:
        """As the chosen one has it."""
        paid = [bonus.paid(state.states[name], transitions) for name, bonus in self.parts]
        if all(steps is None for steps in paid):
            return None
        every = jnp.ones_like(transitions.first)
        return jnp.select(
            [state.chosen[name] for name in self.names],
            [every if steps is None else steps for steps in paid],
        )

    def learn(
        self,
        observations: Observations,
        state: OneOfState,
        transitions: Transitions,
        key: PRNGKeyArray,
    ) -> OneOfState:
        """Train every one of them."""
        states = {
            name: bonus.learn(observations, state.states[name], transitions, key)
            for name, bonus in self.parts
        }
        return state._replace(states=states)
