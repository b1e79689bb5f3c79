"""Whose code a store may call: nothing is imported because it stands in one.

A store may come from anybody. Of what one names, there may be called: environments that Gymnasium
itself has registered, its wrappers, and functions of modules that the user named too, if they are
that module's own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

from clew.plugins import modules_in_use

GYMNASIUM = "gymnasium:"
REGISTERED = re.compile(r"[\w.-]+(/[\w.-]+)?")
FUNCTION = re.compile(r"([\w.]+):([A-Za-z_]\w*)")
WRAPPERS = "gymnasium.wrappers"


def untrusted(environment: str, options: Mapping[str, object]) -> tuple[str, str] | None:
    """What a Gymnasium environment would call that it may not, and of which module it is.

    That is `module:function`, `gymnasium:PACKAGE:ID`, or what an option names; None if all may.
    """
    registered = environment.removeprefix(GYMNASIUM)
    package, _, identifier = registered.rpartition(":")
    if not environment.startswith(GYMNASIUM):
        if not _own(environment):
            return environment, _module(environment)
    elif not REGISTERED.fullmatch(identifier) or (package and package not in _named_modules()):
        return environment, _module(registered)
    for option, target in _named(options):
        if not _own(target) and not (option == "wrappers" and _gymnasium_wrapper(target)):
            return target, _module(target)
    return None


def _named(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What options name by `module:function`: wrappers, and what a state is."""
    for option in ("wrappers", "state"):
        given = options.get(option, ())
        each = given.split(",") if isinstance(given, str) else given
        # whatever else it is would be read in a way that is not checked here
        plain = isinstance(each, list | tuple) and all(isinstance(one, str) for one in each)
        yield from ((option, str(one)) for one in (each if plain else [given]))  # type: ignore[union-attr]


def _named_modules() -> set[str]:
    return {module.name for module in modules_in_use()}


def _own(target: str) -> bool:
    """Whether it is of a module that the user named, and not something that it has imported."""
    found = FUNCTION.fullmatch(target)
    if found is None or found[1] not in _named_modules():
        return False
    defined = getattr(getattr(sys.modules.get(found[1]), found[2], None), "__module__", None)
    return isinstance(defined, str) and defined.partition(".")[0] == found[1].partition(".")[0]


def _gymnasium_wrapper(target: str) -> bool:
    import gymnasium
    from gymnasium import wrappers

    found = FUNCTION.fullmatch(target)
    kind = getattr(wrappers, found[2], None) if found and found[1] == WRAPPERS else None
    return isinstance(kind, type) and issubclass(kind, gymnasium.Wrapper)


def _module(target: str) -> str:
    return target.partition(":")[0]
