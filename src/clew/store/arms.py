"""Runs of one arm with different hyperparameters are kept apart, under names that say so.

λ is no hyperparameter here, having a column of its own. Where an arm was trained with several
values of a hyperparameter, the ones that most runs of its environment have keep the plain name, and
the others get what differs in brackets: `MysteryPath-Grid[chunk=32]`. Of equally common ones all
get brackets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clew.store.canonical import canonical
from clew.store.names import ARM, bracketed, listed, world_name
from clew.validate import printable

Config = Mapping[str, Any]
"""What a store keeps of a run."""
Hyperparameters = dict[str, object]
"""By short name."""


TABLES = (
    "environment_options",
    "architecture_options",
    "bonus_options",
    "prices",
    "knobs",
    "settings",
)
"""Fields of a configuration that hold others."""


class ArmName(NamedTuple):
    """What a run is called in the tables, but for its seed."""

    environment: str
    reward: str
    architecture: str
    bonus: str
    coef: float


def name_arms(configs: Sequence[Config]) -> tuple[list[ArmName], list[str]]:
    """The arm of each run, and sentences about runs that were kept apart."""
    arms = [_plain_name(config) for config in configs]
    notes: list[str] = []
    for field, chosen in (
        ("environment", [hyperparameters(config) for config in configs]),
        ("reward", [dict(config.get("prices", {})) for config in configs]),
        ("architecture", [dict(config.get("architecture_options", {})) for config in configs]),
        ("bonus", [dict(config.get("bonus_options", {})) for config in configs]),
    ):
        arms, said = _keep_apart(field, arms, chosen)
        notes += said
    return arms, notes + _differences_within_tasks(arms, configs)


def swept_coefficients(arms: Sequence[ArmName]) -> list[bool]:
    """Of each run, whether its arm was trained with several λ, and needs a name that says which."""
    coefs: dict[tuple[str | float, ...], set[float]] = defaultdict(set)
    for arm in arms:
        coefs[arm[:4]].add(arm.coef)
    return [len(coefs[arm[:4]]) > 1 for arm in arms]


def names_an_arm(config: Config) -> bool:
    """Whether a configuration, which may come from anywhere, is one that is analysed."""
    tables = [config.get(f, {}) for f in TABLES]
    if not all(isinstance(table, dict) for table in tables):
        return False
    numbers = [*config.get("prices", {}).values(), *config.get("knobs", {}).values()]
    return (
        all(isinstance(config.get(field), str) for field in ARM)
        and type(config.get("seed")) is int
        and all(type(number) in (int, float) for number in numbers)
    )


def hyperparameters(config: Config) -> Hyperparameters:
    """Whatever does not name the arm."""
    settings = dict(config.get("settings", {}))
    if "steps" in settings:  # a run's length has this name already
        settings["settings.steps"] = settings.pop("steps")
    knobs = {k: v for k, v in config.get("knobs", {}).items() if k != "bonus_coef"}
    steps = {"steps": config["steps"]} if "steps" in config else {}
    return {**steps, **knobs, **settings}


def differing(group: Sequence[Hyperparameters]) -> list[str]:
    """Fields that do not have one value in all of them."""
    unlike = list({repr(chosen): chosen for chosen in group}.values())  # most are alike
    fields = sorted({field for chosen in unlike for field in chosen})
    return [f for f in fields if len({_key(chosen, [f]) for chosen in unlike}) > 1]


def _plain_name(config: Config) -> ArmName:
    coef = float(config.get("knobs", {}).get("bonus_coef", 0.0))
    reward, architecture, bonus = (printable(str(config[f])) for f in ARM[1:])
    return ArmName(world_name(dict(config)), reward, architecture, bonus, coef)


def _keep_apart(
    field: str, arms: Sequence[ArmName], group: Sequence[Hyperparameters]
) -> tuple[list[ArmName], list[str]]:
    """Give `field` brackets where runs of one arm and λ differ in their hyperparameters."""
    by_arm: dict[ArmName, list[Hyperparameters]] = defaultdict(list)
    for arm, chosen in zip(arms, group, strict=True):
        by_arm[arm].append(chosen)
    swept: dict[str, set[str]] = defaultdict(set)
    for arm, members in by_arm.items():
        swept[getattr(arm, field)] |= set(differing(members))
    swept = {name: fields for name, fields in swept.items() if fields}
    usual = {name: _usual(name, field, arms, group, sorted(swept[name])) for name in swept}
    found = []
    for arm, chosen in zip(arms, group, strict=True):
        name = getattr(arm, field)
        if name in swept and _key(chosen, sorted(swept[name])) != usual[name]:
            told = {each: chosen.get(each, "unset") for each in swept[name]}
            arm = arm._replace(**{field: _with_brackets(name, told)})
        found.append(arm)
    return found, [_sentence(name, swept[name], usual[name] is not None) for name in sorted(swept)]


def _usual(
    name: str,
    field: str,
    arms: Sequence[ArmName],
    group: Sequence[Hyperparameters],
    fields: list[str],
) -> str | None:
    """The values that most runs of this name have, if some are more common than all others."""
    mine = (chosen for arm, chosen in zip(arms, group, strict=True) if getattr(arm, field) == name)
    (first, most), *others = Counter(_key(chosen, fields) for chosen in mine).most_common(2)
    return None if others and others[0][1] == most else first


def _with_brackets(name: str, chosen: Hyperparameters) -> str:
    """`World[view=7]` becomes `World[view=7,chunk=32]`."""
    if not name.endswith("]"):
        return bracketed(name, chosen)
    return name[:-1] + "," + bracketed("", chosen)[1:]


def _key(chosen: Hyperparameters, fields: Sequence[str]) -> str:
    return canonical({field: chosen[field] for field in fields if field in chosen})


def _sentence(name: str, fields: set[str], plain: bool) -> str:
    kept = "those that most runs have go by the plain name" if plain else "each has its brackets"
    return (
        f"{name} was trained with several values of {', '.join(sorted(fields))}: "
        f"they are kept apart, and {kept}."
    )


def _differences_within_tasks(arms: Sequence[ArmName], configs: Sequence[Config]) -> list[str]:
    """Where arms of one task differ in more than memory and bonus."""
    by_task: dict[tuple[str, str], list[Hyperparameters]] = defaultdict(list)
    for arm, config in zip(arms, configs, strict=True):
        by_task[arm.environment, arm.reward].append(hyperparameters(config))
    return [
        f"The arms of {' / '.join(task)} were not trained alike: {field} is "
        f"{listed((chosen.get(field, 'unset') for chosen in group), 'or')}."
        for task, group in sorted(by_task.items())
        for field in differing(group)
    ]
