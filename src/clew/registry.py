"""Registries: classes and functions by name, without a list kept by hand.

A `Registry` belongs to one package. Every file in that package registers what it defines, so that
adding a file is enough to add a name. A file's names are read off its source, and the file is
imported when one of them is used; a folder's `__init__` is imported at once, and should be cheap.
A module of your own adds its names when it is imported, and so does a package that offers them by
entry points as soon as it is installed (`clew.plugins`).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Generic, TypeVar

from clew.outline import Outline, outline_of, read_outline
from clew.plugins import Offer, import_from, offers
from clew.source import registered, resolved
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
    package: str = ""
    """The installed package that offers it, with its version; empty if none does."""
    refused: str = ""
    """Why it cannot be used, though it has a name; empty if it can."""

    @property
    def origin(self) -> str:
        """Who brings it: a package with its version, or a module; empty for what is Clew's own."""
        module = self.identity.partition(":")[0]
        return self.package or ("" if module.split(".")[0] == __package__ else module)

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
        if self.refused:
            raise BadInput(self.refused)
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        if not self.package:
            return getattr(importlib.import_module(module), attribute)
        whose = f"the plugin {self.package}, which offers {self.name!r},"
        try:
            return attrgetter(attribute)(import_from(module, whose))
        except AttributeError:
            raise BadInput(f"{whose} has no {attribute!r} in its module {module!r}") from None

    def outline(self) -> Outline:
        """Description and options; those that the name settles are left out. Imports nothing."""
        if self.refused:
            return Outline(self.refused)
        if self.package and not self.imported:
            found = Outline(f"Of {self.package}, whose source cannot be read.")
            with suppress(Exception):
                found = read_outline(self.identity)
        else:
            found = outline_of(self.factory()) if self.imported else read_outline(self.identity)
        free = tuple(option for option in found.options if option.name not in self.preset)
        return found._replace(options=free)


class Registry(Generic[T]):
    """Everything of one kind that is registered by one package, or from outside it."""

    def __init__(self, kind: str, package: str | None, group: str | None = None):
        """`group` is that of the entry points by which other packages offer more."""
        self.kind = kind
        self.package = package
        self.group = group
        self.problems: list[str] = []
        """Offers that cannot be taken, each in a sentence."""
        self._entries: dict[str, Entry[T]] = {}
        self._discovered = False

    def add(self, name: str, target: Callable[..., T] | str, **preset: object) -> None:
        """Register `target` under `name`; keyword arguments are options that the name implies."""
        known, new = self._entries.get(name), Entry(name, target, preset)
        # a file that was read is imported later, and a notebook's cell may be run again
        if known and (known.identity, known.preset) != (new.identity, new.preset):
            raise BadInput(
                f"{self.kind} {name!r} is registered twice, by "
                f"{known.package or known.identity} and by {new.identity}"
            )
        self._entries[name] = replace(new, package=known.package) if known else new

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
        if self.package is not None:
            self._read_package(self.package)
        for offer in offers(self.group) if self.group else ():
            self._take(offer)
        self._discovered = True

    def _read_package(self, name: str) -> None:
        package = importlib.import_module(name)
        for each in pkgutil.iter_modules(package.__path__):
            module = f"{package.__name__}.{each.name}"
            found = None if each.ispkg or module in sys.modules else registered(module)
            if found is None:
                importlib.import_module(module)
                continue
            for name, attribute, preset in found:
                self.add(name, f"{module}:{attribute}", **preset)

    def _take(self, offer: Offer) -> None:
        """A plugin never takes the place of another thing, and is no reason to fail."""
        name, target, package = offer
        preset, known = dict[str, object](), self._entries.get(name)
        with suppress(Exception):  # somebody else's source may be anything, or not there
            target = resolved(target)
            module, _, attribute = target.partition(":")
            said = {(each.name, each.attribute): each.preset for each in registered(module) or ()}
            preset = said.get((name, attribute), preset)
        if ":" not in target:
            self.problems.append(
                f"{package}: its entry point {name!r} must be module:attribute, and is {target!r}"
            )
        elif known is None or known.identity == target:
            self._entries[name] = replace(known or Entry(name, target, preset), package=package)
        elif known.package:
            both = f"{self.kind} {name!r} is offered by {known.package} and by {package}"
            self._entries[name] = replace(known, refused=f"{both}; uninstall one of them")
        else:
            self.problems.append(
                f"{package}: its {self.kind} {name!r} is left out, as {known.identity} has the name"
            )
