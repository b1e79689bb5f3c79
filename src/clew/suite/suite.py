"""A suite: a named set of runs, declared once."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew import bonuses, envs, memory
from clew.learner import Knobs, Settings
from clew.suite.spec import RunSpec, make_env, options
from clew.validate import BadInput, known_names, one_of, whole_number

Swept = Mapping[str, Any]
"""Values by name; a list is swept over."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """Every combination of what it lists, on one environment."""

    environment: str
    environment_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rewards: Sequence[str]
    """Variants of the environment."""
    architectures: Sequence[str]
    architecture_options: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """By architecture."""
    bonuses: Sequence[str] = ("none", "e3b", "noveld")
    bonus_options: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """By bonus."""
    seeds: int | Sequence[int] = 10
    """How many, from 0 on; or which."""
    steps: int
    """Environment steps of each run."""
    knobs: Swept = dataclasses.field(default_factory=dict)
    """Over the study's values; a list is swept over."""
    settings: Swept = dataclasses.field(default_factory=dict)
    """Over the study's values; a list is swept over."""

    def __post_init__(self) -> None:
        known_names("environment", [self.environment], envs.names())
        env = make_env(self.environment, options(self.environment_options))
        for field, valid in (
            ("rewards", tuple(env.reward_variants())),
            ("architectures", memory.names()),
            ("bonuses", bonuses.names()),
        ):
            chosen = _several(field, getattr(self, field))
            for value in chosen:
                one_of(field, value, valid)
        known_names(
            "architecture in architecture_options", self.architecture_options, self.architectures
        )
        known_names("bonus in bonus_options", self.bonus_options, self.bonuses)
        known_names("knob", self.knobs, _fields(Knobs))
        known_names("setting", self.settings, _fields(Settings))
        _several("seeds", self.seed_list)
        whole_number("steps", self.steps, 1)

    @property
    def seed_list(self) -> list[int]:
        """Which seeds."""
        if isinstance(self.seeds, int):
            return list(range(whole_number("seeds", self.seeds, 1)))
        return [whole_number("seeds", seed, 0, 2**32 - 1) for seed in self.seeds]

    def runs(self) -> Iterator[RunSpec]:
        """Every run, seeds innermost: runs that share a program come one after the other."""
        for setting in _sweep(self.settings):
            settings = Settings(**setting)
            for architecture, bonus, reward in itertools.product(
                self.architectures, self.bonuses, self.rewards
            ):
                for knob, seed in itertools.product(_sweep(self.knobs), self.seed_list):
                    yield RunSpec(
                        environment=self.environment,
                        environment_options=options(self.environment_options),
                        reward=reward,
                        architecture=architecture,
                        architecture_options=options(
                            self.architecture_options.get(architecture, {})
                        ),
                        bonus=bonus,
                        bonus_options=options(self.bonus_options.get(bonus, {})),
                        seed=seed,
                        steps=self.steps,
                        knobs=Knobs(**knob),
                        settings=settings,
                    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Suite:
    """A named set of runs."""

    name: str
    about: str = ""
    blocks: Sequence[Block]
    share: bool = False
    """Train runs without a bonus in the program of another bonus, with a coefficient of 0: fewer
    programs to compile, each a little slower."""

    def runs(self) -> list[RunSpec]:
        """Every run once, in order; a run that two blocks name is one run."""
        return list(dict.fromkeys(run for block in self.blocks for run in block.runs()))


def _sweep(values: Swept) -> list[dict[str, Any]]:
    """Every combination of the listed values. Without any, one: the defaults."""
    lists = [value if isinstance(value, list | tuple) else [value] for value in values.values()]
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*lists)]


def _several(field: str, values: Any) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise BadInput(f"{field}={values!r} is not valid; it must be a list")
    if not values:
        raise BadInput(f"{field}=[] is not valid; it must have at least one entry")
    if len(set(values)) < len(values):
        raise BadInput(f"{field}={list(values)!r} is not valid; it names something twice")
    return values


def _fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]
