"""Options of worlds, architectures and bonuses, in one spelling: what is the same is equal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from clew.registry import Registry
from clew.store import canonical
from clew.validate import BadInput, finite_number, known_names, one_of

Options = tuple[tuple[str, Any], ...]
"""Names and values in the order of the alphabet, so that equal options are equal keys."""
GIVEN = ("in_size", "width", "key")
"""What the learner hands to every architecture."""


def options(registry: Registry[Any], name: str, given: Mapping[str, Any]) -> Options:
    """What `given` says beyond the defaults of `name`: 1 for 1.0 or a default is no other run."""
    entry = registry[name]
    known = {k: v for k, v in _parameters(entry.factory()).items() if k not in GIVEN}
    known_names(f"option of {name}", given, known)
    chosen = {}
    for option, value in sorted(given.items()):
        value = _settled(option, value, known[option].annotation)
        default = entry.preset.get(option, known[option].default)
        # not `==`, for which True is 1
        if repr(value) != repr(default):
            chosen[option] = value
    return tuple(chosen.items())


def _settled(option: str, value: Any, annotation: Any) -> Any:
    canonical({option: value})  # what cannot be stored is refused here
    if annotation in ("float", float):
        return finite_number(option, _no_truth(option, value)) + 0.0  # −0.0 is 0.0
    if annotation in ("bool", bool):
        return one_of(option, value, (False, True))
    if isinstance(value, Mapping):
        raise BadInput(f"{option}={value!r} is not valid; no option is a table")
    return tuple(value) if isinstance(value, list) else value


def _no_truth(option: str, value: Any) -> Any:
    if isinstance(value, bool):
        raise BadInput(f"{option}={value!r} is not valid; it must be a finite number")
    return value


@cache
def _parameters(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(factory).parameters
