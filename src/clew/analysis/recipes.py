"""Runs of one arm that were not trained alike are kept apart, under names that say so.

A recipe is every hyperparameter that does not name the arm; λ is not part of it, having a column
of its own. Where an arm was trained by several recipes, the one that most runs of its environment
have keeps the plain name, and the others get what differs in brackets:
`MysteryPath-Grid[chunk=32]`. Of equally common recipes all get brackets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clew.store import bracketed, canonical, world_name

Config = Mapping[str, Any]
Recipe = dict[str, Any]


class Named(NamedTuple):
    """The arm of one run."""

    environment: str
    reward: str
    architecture: str
    bonus: str
    coef: float


def named(configs: Sequence[Config]) -> tuple[list[Named], list[str]]:
    """The arm of each, told apart by recipe, and sentences about what was told apart."""
    arms = [_plain(config) for config in configs]
    notes: list[str] = []
    for field, recipes in (
        ("environment", [recipe(config) for config in configs]),
        ("reward", [dict(config.get("prices", {})) for config in configs]),
        ("architecture", [dict(config.get("architecture_options", {})) for config in configs]),
        ("bonus", [dict(config.get("bonus_options", {})) for config in configs]),
    ):
        arms, said = _apart(field, arms, recipes)
        notes += said
    return arms, notes + _unlike(arms, configs)


def recipe(config: Config) -> Recipe:
    """Hyperparameters by their short names."""
    settings = dict(config.get("settings", {}))
    if "steps" in settings:  # a run's length has this name already
        settings["settings.steps"] = settings.pop("steps")
    knobs = {k: v for k, v in config.get("knobs", {}).items() if k != "bonus_coef"}
    steps = {"steps": config["steps"]} if "steps" in config else {}
    return {**steps, **knobs, **settings}


def differing(recipes: Sequence[Recipe]) -> list[str]:
    """Fields that do not have one value in all of them."""
    fields = sorted({field for each in recipes for field in each})
    return [f for f in fields if len({_key(each, [f]) for each in recipes}) > 1]


def several(values: Sequence[Any]) -> str:
    """'0.001 or 0.003'."""
    words = list(dict.fromkeys(str(value) for value in values))
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _plain(config: Config) -> Named:
    coef = float(config.get("knobs", {}).get("bonus_coef", 0.0))
    reward, architecture, bonus = (str(config[f]) for f in ("reward", "architecture", "bonus"))
    return Named(world_name(dict(config)), reward, architecture, bonus, coef)


def _apart(
    field: str, arms: Sequence[Named], recipes: Sequence[Recipe]
) -> tuple[list[Named], list[str]]:
    """Give `field` brackets where runs of one arm and λ have several recipes."""
    by_arm: dict[Named, list[Recipe]] = defaultdict(list)
    for arm, each in zip(arms, recipes, strict=True):
        by_arm[arm].append(each)
    swept: dict[str, set[str]] = defaultdict(set)
    for arm, members in by_arm.items():
        swept[getattr(arm, field)] |= set(differing(members))
    swept = {name: fields for name, fields in swept.items() if fields}
    usual = {name: _usual(name, field, arms, recipes, sorted(swept[name])) for name in swept}
    found = []
    for arm, each in zip(arms, recipes, strict=True):
        name = getattr(arm, field)
        if name in swept and _key(each, sorted(swept[name])) != usual[name]:
            arm = arm._replace(**{field: _with(name, _chosen(each, swept[name]))})
        found.append(arm)
    return found, [_sentence(name, swept[name], usual[name] is not None) for name in sorted(swept)]


def _usual(
    name: str, field: str, arms: Sequence[Named], recipes: Sequence[Recipe], fields: list[str]
) -> str | None:
    mine = (r for a, r in zip(arms, recipes, strict=True) if getattr(a, field) == name)
    (first, most), *others = Counter(_key(each, fields) for each in mine).most_common(2)
    return None if others and others[0][1] == most else first


def _with(name: str, chosen: Recipe) -> str:
    """`World[view=7]` becomes `World[view=7,chunk=32]`."""
    if not name.endswith("]"):
        return bracketed(name, chosen)
    return name[:-1] + "," + bracketed("", chosen)[1:]


def _chosen(each: Recipe, fields: set[str]) -> Recipe:
    return {field: each.get(field, "unset") for field in fields}


def _key(each: Recipe, fields: Sequence[str]) -> str:
    return canonical({field: each[field] for field in fields if field in each})


def _sentence(name: str, fields: set[str], plain: bool) -> str:
    kept = "those that most runs have go by the plain name" if plain else "each has its brackets"
    return (
        f"{name} was trained with several values of {', '.join(sorted(fields))}: "
        f"they are kept apart, and {kept}."
    )


def _unlike(arms: Sequence[Named], configs: Sequence[Config]) -> list[str]:
    """Where arms of one task differ in more than memory and bonus."""
    by_task: dict[tuple[str, str], list[Recipe]] = defaultdict(list)
    for arm, config in zip(arms, configs, strict=True):
        by_task[arm.environment, arm.reward].append(recipe(config))
    return [
        f"The arms of {' / '.join(task)} were not trained alike: {field} is "
        f"{several([each.get(field, 'unset') for each in recipes])}."
        for task, recipes in sorted(by_task.items())
        for field in differing(recipes)
    ]
