"""Names to things, found without a list kept by hand.

A room keeps one `Registry`. Whatever lies in the room's package is imported on first use, and
registers itself there, so that adding one is adding a file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from clew.validate import BadInput, known_names, listing

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered name: what makes it, and the options that the name stands for."""

    name: str
    target: Callable[..., T] | str
    """The factory, or `"module:attribute"` where importing the module should wait until use."""
    preset: Mapping[str, Any] = field(default_factory=dict)

    def factory(self) -> Callable[..., T]:
        """The factory itself, imported now if it was given by name."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


class Registry(Generic[T]):
    """The things of one kind that live in one package."""

    def __init__(self, kind: str, package: str):
        self.kind = kind
        self.package = package
        self._entries: dict[str, Entry[T]] = {}
        self._discovered = False

    def add(self, name: str, target: Callable[..., T] | str, **preset: Any) -> None:
        """Register `target` under `name`; keyword arguments are options that the name implies."""
        known = self._entries.get(name)
        # a notebook's cell may define the same class again
        if known and (_identity(known.target), known.preset) != (_identity(target), preset):
            raise BadInput(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = Entry(name, target, preset)

    def register(self, name: str, **preset: Any) -> Callable[[F], F]:
        """Register the decorated class or function under `name`."""

        def decorate(factory: F) -> F:
            self.add(name, factory, **preset)
            return factory

        return decorate

    def names(self) -> tuple[str, ...]:
        """Every registered name, in alphabetical order."""
        self._discover()
        return tuple(sorted(self._entries))

    def __getitem__(self, name: str) -> Entry[T]:
        known_names(self.kind, [name], self.names())
        return self._entries[name]

    def make(self, name: str, /, **options: Any) -> T:
        """Make the thing called `name`, its options checked against its factory's signature."""
        entry = self[name]
        factory = entry.factory()
        known_names(f"option of {name}", options, inspect.signature(factory).parameters)
        for option, value in options.items():
            if option in entry.preset and entry.preset[option] != value:
                meant = entry.preset[option]
                others = [n for n in self.names() if self[n].target == entry.target and n != name]
                raise BadInput(
                    f"{option}={value!r} contradicts the name {name!r}, which means "
                    f"{option}={meant!r}; choose another name: {listing(others)}"
                )
        return factory(**{**entry.preset, **options})

    def _discover(self) -> None:
        if self._discovered:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        self._discovered = True


def _identity(target: Callable[..., Any] | str) -> str:
    return target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
