"""POMDPs by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clew.machines.model.pomdp import Pomdp
from clew.registry import Registry

F = TypeVar("F", bound=Callable[..., Pomdp])

gallery: Registry[Pomdp] = Registry("POMDP", package="clew.machines.worlds.library")


def make(name: str, /, **options: object) -> Pomdp:
    """Build the POMDP called `name`; `names()` lists them, and each documents its options."""
    return gallery.make(name, **options)


def names() -> tuple[str, ...]:
    """The names that `make` accepts."""
    return gallery.names()


def register(name: str, **preset: object) -> Callable[[F], F]:
    """Decorate a builder with the name that `make` and `clew classify` know it by."""
    return gallery.register(name, **preset)
