"""Whose code a store may call: nothing is imported because it stands in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clew.plugins import modules_in_use

GYMNASIUM = "gymnasium:"


def untrusted(environment: str, options: Mapping[str, object]) -> tuple[str, str] | None:
    """What a Gymnasium environment would call of a module that nobody has named, and the module.

    That is `module:function`, `gymnasium:PACKAGE:ID`, or what an option names; None if all modules
    are trusted.
    """
    trusted = {"gymnasium.wrappers", *(module.name for module in modules_in_use())}
    for target in (environment, *_named(options)):
        module, _, _ = target.removeprefix(GYMNASIUM).rpartition(":")
        module = module.partition(":")[0]
        if module and module not in trusted:
            return target, module
    return None


def _named(options: Mapping[str, object]) -> Iterator[str]:
    """What options name by `module:function`: wrappers, and what a state is."""
    for option in ("wrappers", "state"):
        given = options.get(option)
        if isinstance(given, str):
            yield from given.split(",")
        elif isinstance(given, list | tuple):
            yield from (each for each in given if isinstance(each, str))
