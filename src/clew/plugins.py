"""Worlds, memories, bonuses, suites and latents from outside, in two ways.

A package that is installed offers them by entry points, `NAME = "module:attribute"` in the group
`clew.worlds`, `clew.memories`, `clew.bonuses`, `clew.suites` or `clew.latents`. They are known by
name wherever the package is installed, and imported when one is used.

A user names a module, in a suite file or behind `--module`: it is imported at once, here and by the
workers that are started from here, and registers what it has by its decorators. Nothing that stands
in a store is ever imported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from clew.validate import BadInput, error_words

FLAG = "--module"
"""Of every command."""


class Offer(NamedTuple):
    """One entry point."""

    name: str
    target: str
    """`"module:attribute"`."""
    package: str
    """The distribution that offers it, with its version."""


class UserModule(NamedTuple):
    """A module that a user has named."""

    name: str
    folder: str
    """Where it is looked for if it is not installed."""


_in_use: dict[str, UserModule] = {}


def offers(group: str) -> list[Offer]:
    """What installed packages offer in a group, in the order of the alphabet. Imports nothing."""
    found = (
        Offer(each.name, each.value.partition("[")[0].replace(" ", ""), _package(each))
        for each in importlib.metadata.entry_points(group=group)
    )
    return sorted(found, key=lambda offer: (offer.name, offer.package))


def use_modules(names: Iterable[str], folder: Path) -> None:
    """Import modules, and have workers import them too.

    Each is the name of one that is installed or lies in the folder, `my_package.worlds`, or a file,
    `path/my_world.py`.
    """
    for name in names:
        place = (folder / name).absolute()
        if name.endswith(".py"):
            if place.stem.isidentifier() and not place.is_file():
                raise BadInput(
                    f"there is no module {name!r}: {place} is not a file; check the path"
                )
            use_again([UserModule(place.stem, str(place.parent))])
        else:
            use_again([UserModule(name, str(folder.absolute()))])


def use_again(modules: Iterable[UserModule]) -> None:
    """Import what another process has in use."""
    for module in modules:
        _import(module)
        _in_use[module.name] = module


def modules_in_use() -> tuple[UserModule, ...]:
    """What a process must import to know the same names as this one."""
    return tuple(_in_use.values())


def import_from(module: str, whose: str) -> ModuleType:
    """The module; if that fails, the error says in one sentence whose it is, and why."""
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{whose} cannot be imported ({error_words(error)}); "
            f"`python -c 'import {module}'` shows where"
        ) from error


def _import(module: UserModule) -> None:
    name, folder = module
    if not name.isascii() or not all(part.isidentifier() for part in name.split(".")):
        raise BadInput(
            f"module={name!r} is not valid; it must be the name of a module, such as "
            "'my_package.worlds', or a .py file"
        )
    if folder not in sys.path:
        # last: a file beside a suite must not stand in the place of an installed package
        sys.path.append(folder)
    importlib.invalidate_caches()  # it may have been written a moment ago
    import_from(name, f"the module {name!r} (installed, or in {folder})")
    beside = Path(folder) / name.split(".")[0]
    home = getattr(sys.modules[name.split(".")[0]], "__file__", None) or ""
    taken = beside.with_suffix(".py").is_file() or (beside / "__init__.py").is_file()
    if taken and not Path(home).resolve().is_relative_to(Path(folder).resolve()):
        raise BadInput(
            f"the module {name!r} in {folder} is hidden by another of this name, "
            f"{home or 'which is built in'}; give it another name"
        )


def _package(point: importlib.metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed package"
