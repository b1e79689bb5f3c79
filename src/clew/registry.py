"""Registries: classes and functions by name, without a list kept by hand.

A `Registry` belongs to one package. Every file in that package registers what it defines, so that
adding a file is enough to add a name. A file's names are read off its source, and the file is
imported when one of them is used; a folder's `__init__` is imported at once, and should be cheap.
A module of your own adds its names when it is imported.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clew.outline import Outline, outline_of, read_outline
from clew.source import registered
from clew.validate import BadInput, known_names, listing

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered name: what makes it, and the options that the name stands for."""

    name: str
    target: Callable[..., T] | str
    """The factory, or `"module:attribute"` where importing the module should wait until use."""
    preset: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def identity(self) -> str:
        """`"module:attribute"`, imported or not."""
        if isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    @property
    def imported(self) -> bool:
        """Whether using it costs no further import."""
        return not isinstance(self.target, str) or self.identity.split(":")[0] in sys.modules

    def factory(self) -> Callable[..., T]:
        """The factory itself, imported now if it was given by name."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)

    def outline(self) -> Outline:
        """Description and options; those that the name settles are left out. Imports nothing."""
        found = outline_of(self.factory()) if self.imported else read_outline(self.identity)
        free = tuple(option for option in found.options if option.name not in self.preset)
        return found._replace(options=free)


class Registry(Generic[T]):
    """Everything of one kind that is registered by one package, or from outside it."""

    def __init__(self, kind: str, package: str):
        self.kind = kind
        self.package = package
        self._entries: dict[str, Entry[T]] = {}
        self._discovered = False

    def add(self, name: str, target: Callable[..., T] | str, **preset: object) -> None:
        """Register `target` under `name`; keyword arguments are options that the name implies."""
        known, new = self._entries.get(name), Entry(name, target, preset)
        # a file that was read is imported later, and a notebook's cell may be run again
        if known and (known.identity, known.preset) != (new.identity, new.preset):
            raise BadInput(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = new

    def register(self, name: str, **preset: object) -> Callable[[F], F]:
        """Register the decorated class or function under `name`."""

        def decorate(factory: F) -> F:
            self.add(name, factory, **preset)  # type: ignore[arg-type]
            return factory

        return decorate

    def names(self) -> tuple[str, ...]:
        """Every registered name, in alphabetical order."""
        self._discover()
        return tuple(sorted(self._entries))

    def __getitem__(self, name: str) -> Entry[T]:
        known_names(self.kind, [name], self.names())
        return self._entries[name]

    def make(self, name: str, /, **options: object) -> T:
        """Make the thing called `name`, its options checked against its factory's signature."""
        entry = self[name]
        factory = entry.factory()
        known_names(f"option of {name}", options, inspect.signature(factory).parameters)
        for option, value in options.items():
            if option in entry.preset and entry.preset[option] != value:
                meant = entry.preset[option]
                same = [n for n in self.names() if self[n].identity == entry.identity and n != name]
                raise BadInput(
                    f"{option}={value!r} contradicts the name {name!r}, which means "
                    f"{option}={meant!r}; choose another name: {listing(same)}"
                )
        return factory(**{**entry.preset, **options})

    def _discover(self) -> None:
        if self._discovered:
            return
        package = importlib.import_module(self.package)
        for each in pkgutil.iter_modules(package.__path__):
            module = f"{self.package}.{each.name}"
            found = None if each.ispkg or module in sys.modules else registered(module)
            if found is None:
                importlib.import_module(module)
                continue
            for name, attribute, preset in found:
                self.add(name, f"{module}:{attribute}", **preset)
        self._discovered = True
