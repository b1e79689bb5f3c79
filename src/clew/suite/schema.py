"""What a run's configuration holds, so that later versions of Clew find the runs of earlier ones.

`schema.json` has the default that every setting and option had when it was introduced. It is only
ever added to. A configuration holds the settings of version 1 always. What was added later it
holds only if its value is not that first default, and so do options of worlds, architectures and
bonuses: a run that was stored before a setting existed is the run that has its first default.

A default that is changed later is not the first one, so it is written down, and makes another run.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeVar

from clew.bonuses import bonuses
from clew.envs.registry import environments, hosted
from clew.learner import Knobs, Settings
from clew.loading import load
from clew.memory.registry import GIVEN, architectures
from clew.store import canonical
from clew.store.canonical import JsonObject
from clew.validate import BadInput, finite_number, known_names, one_of

T = TypeVar("T")
Options = tuple[tuple[str, object], ...]
"""Names and values in the order of the alphabet, so that equal options are equal keys."""
Kind = Literal["environment", "architecture", "bonus"]
KINDS: tuple[Kind, ...] = ("environment", "architecture", "bonus")
Part = Literal["knobs", "settings"]
REGISTRIES = {"environment": environments, "architecture": architectures, "bonus": bonuses}
EVERY_WORLD = {
    "knowledge": inspect.Parameter(
        "knowledge", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool"
    )
}
"""Options that `clew.envs.make` takes for any world, besides the world's own."""
ANY = inspect.Parameter("any", inspect.Parameter.KEYWORD_ONLY)
NOT_OPTIONS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_KEYWORD)
HOSTED = "gymnasium:"
"""In `schema.json`, every Gymnasium environment."""
UNSTORED = {"vector"}
"""Options of a Gymnasium environment that say how it is stepped, and change no result."""
FIRST: JsonObject = json.loads(files("clew.suite").joinpath("schema.json").read_text("utf-8"))
"""First defaults: of knobs and settings by the version that they came with, of options by name."""


def options(kind: Kind, name: str, given: Mapping[str, object]) -> Options:
    """What `given` says beyond the defaults of `name`: 1 for 1.0 or a default is no other run."""
    known = _parameters(kind, name)
    if not _is_hosted(kind, name):  # which hands on what it does not know
        known_names(f"option of {name}", given, known)
    chosen = {}
    for option, value in sorted(given.items()):
        parameter = known.get(option, ANY)
        value = _checked(option, value, parameter.annotation)
        # not `==`, for which True is 1
        if repr(value) != repr(parameter.default):
            chosen[option] = value
    return tuple(chosen.items())


def stored_options(kind: Kind, name: str, chosen: Options) -> JsonObject:
    """The options that a configuration holds: those that are not at their first default."""
    now = dict(chosen)
    for option, first, default in _changed(kind, name):
        value = now.setdefault(option, default)
        if _same(value, first):
            del now[option]
    unstored = UNSTORED if _is_hosted(kind, name) else ()
    return {option: value for option, value in sorted(now.items()) if option not in unstored}


def chosen_options(kind: Kind, name: str, stored: Mapping[str, object]) -> Options:
    """The inverse: what is not stored has its first default, whatever the default is today."""
    first = {option: first for option, first, _ in _changed(kind, name)}
    return tuple({**first, **stored}.items())


def stored_fields(part: Part, values: Knobs | Settings) -> JsonObject:
    """The knobs or settings that a configuration holds."""
    first, found = _first_fields(part, type(values)), {}
    for field in dataclasses.fields(values):
        value = getattr(values, field.name)
        # 1 where 1.0 is meant, or −0.0 where 0.0 is, is not another run
        value = value + 0.0 if field.type == "float" else value
        if field.name not in first or not _same(value, first[field.name]):
            found[field.name] = value
    return found


def load_fields(part: Part, kind: type[T], stored: Mapping[str, object]) -> T:
    """The inverse: what is not stored has its first default, whatever the default is today."""
    return load({**_first_fields(part, kind), **stored}, kind, part)


def _first_fields(part: Part, kind: type) -> JsonObject:
    """First defaults of the fields that were added after version 1."""
    always = FIRST[part]["1"]
    added = {f.name: f.default for f in dataclasses.fields(kind) if f.name not in always}
    for version, fields in FIRST[part].items():
        added |= fields if version != "1" else {}
    return added


def _changed(kind: Kind, name: str) -> list[tuple[str, object, object]]:
    """Options whose default is not the first one any more: name, first default, default."""
    known = _parameters(kind, name)
    return [
        (option, first, known[option].default)
        for option, first in FIRST[kind].get(HOSTED if hosted(name) else name, {}).items()
        if option in known and not _same(first, known[option].default)
    ]


def _checked(option: str, value: object, annotation: object) -> object:
    canonical({option: value})  # what cannot be stored is refused here
    if annotation in ("float", float) or (annotation == "float | None" and value is not None):
        if isinstance(value, bool):
            raise BadInput(f"{option}={value!r} is not valid; it must be a finite number")
        return finite_number(option, value) + 0.0  # −0.0 is 0.0
    if annotation in ("bool", bool):
        return one_of(option, value, (False, True))
    entries = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(entry, (Mapping, list, tuple)) for entry in entries):
        raise BadInput(f"{option}={value!r} is not valid; no option is a table or a list of lists")
    return entries if isinstance(value, list) else value


def _parameters(kind: Kind, name: str) -> Mapping[str, inspect.Parameter]:
    """Of what makes it, with the defaults that its name stands for."""
    entry = REGISTRIES[kind][name]
    known = _known(entry.factory(), tuple(entry.preset.items()))
    every = kind == "environment" and not hosted(name)
    return {**known, **EVERY_WORLD} if every else known


def _is_hosted(kind: Kind, name: str) -> bool:
    return kind == "environment" and hosted(name)


@cache
def _known(factory: Callable[..., object], preset: Options) -> Mapping[str, inspect.Parameter]:
    given = dict(preset)
    return {
        name: parameter.replace(default=given.get(name, parameter.default))
        for name, parameter in inspect.signature(factory).parameters.items()
        if name not in GIVEN and parameter.kind not in NOT_OPTIONS
    }


def _same(one: object, other: object) -> bool:
    """As stored: 1, 1.0 and True are three values, and a tuple is a list."""
    return (one == other and type(one) is type(other)) or canonical(one) == canonical(other)
