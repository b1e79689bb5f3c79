"""A suite: a named set of runs, declared once."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew import bonuses, memory
from clew.learner import Knobs, Settings
from clew.store.canonical import JsonObject
from clew.suite.schema import options
from clew.suite.spec import RunSpec, make_env
from clew.validate import BadInput, known_names, one_of, whole_number

MOST_SEEDS = 100_000
MOST_PROGRAMS = 10_000
Swept = Mapping[str, Any]
"""Values by name; a list is swept over."""
Table = Mapping[str, object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """Every combination of what it lists, on one environment."""

    environment: str
    environment_options: Table = dataclasses.field(default_factory=dict)
    rewards: Sequence[str]
    """Variants of the environment."""
    architectures: Sequence[str]
    architecture_options: Mapping[str, Table] = dataclasses.field(default_factory=dict)
    """By architecture."""
    bonuses: Sequence[str] = ("none", "e3b", "noveld")
    bonus_options: Mapping[str, Table] = dataclasses.field(default_factory=dict)
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
        chosen = options("environment", self.environment, self.environment_options)
        env = make_env(self.environment, chosen)
        for field, valid in (
            ("rewards", tuple(env.reward_variants())),
            ("architectures", memory.names()),
            ("bonuses", bonuses.names()),
        ):
            for value in _several(field, getattr(self, field)):
                one_of(field, value, valid)
        known_names(
            "architecture in architecture_options", self.architecture_options, self.architectures
        )
        known_names("bonus in bonus_options", self.bonus_options, self.bonuses)
        for bonus, given in self.bonus_options.items():
            bonuses.make(bonus, **given)
        _check("knob", self.knobs, Knobs)
        for name, given in self.knobs.items():
            for value in _as_list(given):
                Knobs(**{name: value})
        _check("setting", self.settings, Settings)
        _several("seeds", self.seed_list)
        whole_number("steps", self.steps, 1)
        programs = _combinations(self.settings) * len(self.architectures) * len(self.bonuses)
        if programs > MOST_PROGRAMS:
            raise BadInput(
                f"the block asks for {programs:,} programs, each compiled by itself; sweep over "
                f"fewer settings, {MOST_PROGRAMS:,} programs at most"
            )

    @property
    def seed_list(self) -> list[int]:
        """Which seeds."""
        if not isinstance(self.seeds, Sequence) or isinstance(self.seeds, str):
            return list(range(whole_number("seeds", self.seeds, 1, MOST_SEEDS)))
        return [whole_number("seeds", seed, 0, 2**32 - 1) for seed in self.seeds]

    @property
    def size(self) -> int:
        """How many runs it names. They are counted, and not made."""
        arms = len(self.architectures) * len(self.bonuses) * len(self.rewards)
        swept = _combinations(self.settings) * _combinations(self.knobs)
        return arms * swept * len(self.seed_list)

    def samples(self) -> Iterator[RunSpec]:
        """One run of every arm and program, which is enough to check that all can be built."""
        knobs = {name: _as_list(value)[0] for name, value in self.knobs.items()}
        return dataclasses.replace(self, knobs=knobs, seeds=self.seed_list[:1]).runs()

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
                        environment_options=tuple(self.environment_options.items()),
                        reward=reward,
                        architecture=architecture,
                        architecture_options=tuple(
                            self.architecture_options.get(architecture, {}).items()
                        ),
                        bonus=bonus,
                        bonus_options=tuple(self.bonus_options.get(bonus, {}).items()),
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
    """Train runs with different bonuses in fewer programs and larger packs: those without one in
    the program of another, with a coefficient of 0; and on an accelerator, where it is faster, all
    in a program with all the bonuses. Results are the same but for rounding."""

    def __post_init__(self) -> None:
        if not self.blocks:
            raise BadInput("blocks=[] is not valid; a suite has at least one block")

    @property
    def size(self) -> int:
        """How many runs it names, those that two blocks name twice. They are not made."""
        return sum(block.size for block in self.blocks)

    def runs(self) -> list[RunSpec]:
        """Every run once, in order; a run that two blocks name is one run."""
        return list(dict.fromkeys(run for block in self.blocks for run in block.runs()))


def _sweep(values: Swept) -> list[JsonObject]:
    """Every combination of the listed values. Without any, one: the defaults."""
    lists = map(_as_list, values.values())
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*lists)]


def _combinations(values: Swept) -> int:
    """How many `_sweep` would make."""
    return math.prod(len(_as_list(value)) for value in values.values())


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _several(field: str, values: object) -> Sequence[object]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise BadInput(f"{field}={values!r} is not valid; it must be a list")
    if not values:
        raise BadInput(f"{field}=[] is not valid; it must have at least one entry")
    try:
        twice = len(set(values)) < len(values)
    except TypeError:  # lists or tables, of which there are few
        twice = any(value in values[:i] for i, value in enumerate(values))
    if twice:
        raise BadInput(f"{field}={list(values)!r} is not valid; it has an entry twice")
    return values


def _check(what: str, values: Swept, kind: type) -> None:
    """Refuse unknown names, empty lists, and booleans in place of numbers."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    known_names(what, values, fields)
    for name, given in values.items():
        if isinstance(given, list | tuple):
            _several(name, given)
        for value in _as_list(given):
            if fields[name].type == "float" and isinstance(value, bool):
                raise BadInput(f"{name}={value!r} is not valid; it must be a finite number")
