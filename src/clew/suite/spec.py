"""One run, in words and numbers: what its configuration says, and what the learner makes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from clew import bonuses, envs
from clew.envs import Environment
from clew.learner import Knobs, Pack, Program, Settings
from clew.suite.store import canonical, digest
from clew.validate import whole_number

Options = tuple[tuple[str, Any], ...]
"""Names and values in the order of the alphabet, so that equal options are equal keys."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSpec:
    """An arm, a seed, and every hyperparameter; equal content is the same run."""

    environment: str
    environment_options: Options = ()
    reward: str
    """A variant of the environment."""
    architecture: str
    architecture_options: Options = ()
    bonus: str
    bonus_options: Options = ()
    seed: int
    steps: int
    """Environment steps to train for."""
    knobs: Knobs
    settings: Settings

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, 0, 2**32 - 1)
        whole_number("steps", self.steps, self.settings.leg)
        if self.bonus == "none" and self.knobs.bonus_coef:
            # what is multiplied with nothing must not make two runs of one
            object.__setattr__(self, "knobs", dataclasses.replace(self.knobs, bonus_coef=0.0))

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result, as plain data; its hash is the run's identity."""
        return {
            "environment": self.environment,
            "environment_options": dict(self.environment_options),
            "reward": self.reward,
            # what a variant pays is part of what was run, whatever it is called
            "prices": self.prices,
            "architecture": self.architecture,
            "architecture_options": dict(self.architecture_options),
            "bonus": self.bonus,
            "bonus_options": dict(self.bonus_options),
            "seed": self.seed,
            "steps": self.steps,
            "knobs": _floats(dataclasses.asdict(self.knobs)),
            "settings": dataclasses.asdict(self.settings),
        }

    @property
    def identity(self) -> str:
        """Hash of the configuration."""
        return digest(self.config)

    @property
    def env(self) -> Environment:
        """Its world."""
        return make_env(self.environment, self.environment_options)

    @property
    def prices(self) -> dict[str, float]:
        """What each event pays; events that pay nothing are left out."""
        env = self.env
        paid = zip(env.event_names, env.prices(self.reward), strict=True)
        return {name: float(price) for name, price in paid if price}

    def program(self, bonus: str | None = None, options: Options = ()) -> Program:
        """What is compiled for it; another bonus's program will do for a run without one."""
        name, chosen = (self.bonus, self.bonus_options) if bonus is None else (bonus, options)
        return make_program(
            self.environment,
            self.environment_options,
            self.architecture,
            self.architecture_options,
            name,
            chosen,
            self.settings,
        )

    def pack(self, program: Program) -> Pack:
        """A pack of this run alone."""
        return Pack.alone(program, self.seed, self.reward, self.knobs)


def from_config(config: Mapping[str, Any]) -> RunSpec:
    """The run that a stored configuration describes."""
    return RunSpec(
        environment=config["environment"],
        environment_options=options(config["environment_options"]),
        reward=config["reward"],
        architecture=config["architecture"],
        architecture_options=options(config["architecture_options"]),
        bonus=config["bonus"],
        bonus_options=options(config["bonus_options"]),
        seed=config["seed"],
        steps=config["steps"],
        knobs=Knobs(**config["knobs"]),
        settings=Settings(**config["settings"]),
    )


def options(given: Mapping[str, Any]) -> Options:
    """As a key."""
    canonical(dict(given))  # what cannot be stored is refused here
    return tuple(sorted(given.items()))


@cache
def make_env(name: str, chosen: Options) -> Environment:
    """Worlds are values; each is made once."""
    return envs.make(name, **dict(chosen))


@cache
def make_program(
    environment: str,
    environment_options: Options,
    architecture: str,
    architecture_options: Options,
    bonus: str,
    bonus_options: Options,
    settings: Settings,
) -> Program:
    """One program for all runs that differ in numbers only."""
    return Program.of(
        make_env(environment, environment_options),
        architecture,
        bonuses.make(bonus, **dict(bonus_options)),
        settings,
        dict(architecture_options),
    )


def _floats(numbers: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
