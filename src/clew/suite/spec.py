"""One run, in words and numbers: what its configuration says, and what the learner makes of it."""

from __future__ import annotations

import dataclasses
from functools import cache

from clew import bonuses, envs
from clew.bonuses import Bonus, OneOf
from clew.envs import Environment
from clew.learner import Knobs, Pack, Program, Settings
from clew.store import digest
from clew.store.canonical import JsonObject
from clew.suite.schema import (
    KINDS,
    Options,
    chosen_options,
    load_fields,
    options,
    stored_fields,
    stored_options,
)
from clew.validate import BadInput, whole_number

BonusSpec = tuple[str, Options]
"""A bonus by its name, and its options."""
NONE: BonusSpec = ("none", ())
MOST_STEPS = 2**31 - 1
"""The learner counts them in 32 bits."""


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
        if whole_number("steps", self.steps, 1, MOST_STEPS) < self.settings.period:
            raise BadInput(
                f"steps={self.steps} is not valid; it must be at least {self.settings.period}, one "
                f"period (eval_every × envs × steps of the settings)"
            )
        for kind in KINDS:
            given = dict(getattr(self, f"{kind}_options"))
            self._set(f"{kind}_options", options(kind, getattr(self, kind), given))
        if self.bonus == "none":
            # without a bonus, its coefficient must not make two runs of one
            self._set("knobs", dataclasses.replace(self.knobs, bonus_coef=0.0))
            self._set("bonus_options", ())

    @property
    def config(self) -> JsonObject:
        """Everything that decides the result, as plain data; its hash is the run's identity."""
        options = {
            f"{kind}_options": stored_options(
                kind, getattr(self, kind), getattr(self, f"{kind}_options")
            )
            for kind in KINDS
        }
        if self.bonus == "none":
            options["bonus_options"] = {}
        return {
            **options,
            "environment": self.environment,
            "reward": self.reward,
            # what a variant pays is part of what was run, whatever it is called
            "prices": self.prices,
            "architecture": self.architecture,
            "bonus": self.bonus,
            "seed": self.seed,
            "steps": self.steps,
            "knobs": stored_fields("knobs", self.knobs),
            "settings": stored_fields("settings", self.settings),
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

    @property
    def own_bonus(self) -> BonusSpec:
        """With its options."""
        return self.bonus, self.bonus_options

    def program(self, *bonuses: BonusSpec) -> Program:
        """What is compiled for it and others, each with one of these bonuses; or for it alone.

        Another bonus's program will do for a run without one.
        """
        return make_program(
            self.environment,
            self.environment_options,
            self.architecture,
            self.architecture_options,
            bonuses or (self.own_bonus,),
            self.settings,
        )

    def pack(self, program: Program) -> Pack:
        """A pack of this run alone."""
        several = isinstance(program.bonus, OneOf)
        mine = bonus_name(self.own_bonus) if several else None
        return Pack.single(program, self.seed, self.reward, self.knobs, mine)

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)


def from_config(config: JsonObject) -> RunSpec:
    """The run that a stored configuration describes."""
    try:
        options = {
            f"{kind}_options": chosen_options(kind, config[kind], config[f"{kind}_options"])
            for kind in KINDS
        }
        return RunSpec(
            **options,
            **{name: config[name] for name in ("reward", "seed", "steps", *KINDS)},
            knobs=load_fields("knobs", Knobs, config["knobs"]),
            settings=load_fields("settings", Settings, config["settings"]),
        )
    except (BadInput, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"this is not the configuration of a run ({error})") from None


def make_env(name: str, chosen: Options) -> Environment:
    """Worlds are values; each is made once."""
    # the text tells 1 from True, which are equal as keys
    return _make_env(name, chosen, repr(chosen))


@cache
def _make_env(name: str, chosen: Options, text: str) -> Environment:
    return envs.make(name, **dict(chosen))


@cache
def make_program(
    environment: str,
    environment_options: Options,
    architecture: str,
    architecture_options: Options,
    bonuses: tuple[BonusSpec, ...],
    settings: Settings,
) -> Program:
    """One program for all runs that differ in numbers only."""
    return Program.of(
        make_env(environment, environment_options),
        architecture,
        make_bonus(bonuses),
        settings,
        dict(architecture_options),
    )


def make_bonus(chosen: tuple[BonusSpec, ...]) -> Bonus:
    """The bonus, or one that is any of several."""
    made = {each: bonuses.make(each[0], **dict(each[1])) for each in chosen}
    if len(made) == 1:
        return made[chosen[0]]
    alike = next(bonus for (name, _), bonus in made.items() if name != NONE[0])
    if NONE in made:  # its scores are 0, however they are normalised
        made[NONE] = bonuses.make(NONE[0], normalise=alike.normalise, clip=alike.clip)
    return OneOf.of({bonus_name(each): bonus for each, bonus in made.items()})


def bonus_name(bonus: BonusSpec) -> str:
    """What checkpoints call it among others: the same for equal options, in every version."""
    name, chosen = bonus
    given = stored_options("bonus", name, chosen)
    return f"{name}-{digest(given)[:8]}" if given else name
