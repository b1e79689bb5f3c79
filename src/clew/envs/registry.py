"""Which worlds there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from clew.registry import Entry, Registry
from clew.source import calls
from clew.validate import BadInput, one_of

if TYPE_CHECKING:
    from clew.envs.base import Environment
    from clew.envs.latent import Latent

F = TypeVar("F", bound="Callable[..., Environment]")


HOSTED = "; one of Gymnasium's is written gymnasium:{name}, one of yours module:function"


class _Environments(Registry["Environment"]):
    """The worlds by name; and every Gymnasium environment, whose names have a colon."""

    def __getitem__(self, name: str) -> Entry[Environment]:
        if hosted(name):
            return Entry(name, "clew.envs.hosted.host:host")
        try:
            return super().__getitem__(name)
        except BadInput as unknown:
            raise BadInput(f"{unknown}{HOSTED.format(name=_id(name))}") from None

    def make(self, name: str, /, **options: object) -> Environment:
        if hosted(name):
            return self[name].factory()(name, **options)
        return super().make(name, **options)


environments: Registry[Environment] = _Environments(
    "environment", "clew.envs.worlds", "clew.worlds"
)
latents: Registry[Latent[Any, Any] | None] = Registry("latent", None, "clew.latents")
"""Questions beyond a world's own: classes or functions that take the world, and return a `Latent`,
or None for a world that they know nothing of. `clew probe --latent NAME` asks them."""


names = environments.names
"""The names that `make` accepts."""


def make(name: str, /, *, knowledge: object = False, **options: object) -> Environment[Any, Any]:
    """Make the world called `name`; `names()` lists them, and each documents its options.

    With `knowledge`, its observations hold what a perfect memory would know. `gymnasium:ID`, or
    `module:function`, is a Gymnasium environment, with the options of `clew.envs.hosted.host`.
    """
    if hosted(name):
        return environments.make(name, **options, **({"knowledge": knowledge} if knowledge else {}))
    world = environments.make(name, **options)
    if not one_of("knowledge", knowledge, (False, True)):
        return world
    from clew.envs.knowing import Knowing

    return Knowing(world)


def hosted(name: str) -> bool:
    """Whether it names a Gymnasium environment: `gymnasium:ID`, or `module:function`."""
    return ":" in name


def _id(name: str) -> str:
    """The name, if it looks like one of Gymnasium's."""
    return name if re.search(r"-v\d+$", name) else "ID"


def register(name: str, **preset: object) -> Callable[[F], F]:
    """Decorate a world's class with the name that `make` and Gymnasium know it by."""

    def decorate(factory: F) -> F:
        environments.add(name, factory, **preset)
        if importlib.util.find_spec("gymnasium") is not None:
            register_with_gymnasium(name)
        return factory

    return decorate


@dataclass(frozen=True)
class Display:
    """How tables and figures show an environment."""

    label: str
    """Its short name."""
    variant: str = ""
    """What it is called among variants of one world in one table; its name unless given."""
    threshold: float = 0.5
    """Success that counts as having learnt the task, for the steps that it took."""
    order: int | None = None
    """Its place among the others; those without one come last, in alphabetical order."""


_displays: dict[str, Display] = {}


def show_as(name: str, shown: Display) -> None:
    """Choose how to show an environment, by the name that a table of results has for it.

    That is `NAME`, or `NAME[option=value]` for an environment with options.
    """
    _displays[name] = shown


def display(name: str) -> Display:
    """How to show an environment: as `show_as` chose, else under its own name.

    Those of Gymnasium are shown by their identifiers.
    """
    return _all_displays().get(name) or Display(name.removeprefix("gymnasium:"))


def shown_first() -> tuple[str, ...]:
    """The environments that have a place, in order."""
    shown = _all_displays().items()
    return tuple(
        name for _, name in sorted((it.order, n) for n, it in shown if it.order is not None)
    )


def _all_displays() -> dict[str, Display]:
    entries = [environments[name] for name in names()]  # imports folders, which call `show_as`
    found: dict[str, Display] = {}
    for module in {entry.identity.split(":")[0] for entry in entries if entry.package}:
        found |= _displays_in(module)
    return found | _displays


@cache
def _displays_in(module: str) -> dict[str, Display]:
    """What a plugin chooses by `show_as`, read: whether it is imported must change no report."""
    found: dict[str, Display] = {}
    with suppress(Exception):  # somebody else's source may be anything, or not there
        for name, shown in calls(module, "show_as"):
            assert isinstance(shown, ast.Call)
            chosen = {str(each.arg): ast.literal_eval(each.value) for each in shown.keywords}
            found[ast.literal_eval(name)] = Display(*map(ast.literal_eval, shown.args), **chosen)
    return found


def register_with_gymnasium(name: str) -> None:
    """Make a world available as `gymnasium.make("clew/NAME-v0", reward=…, **options)`."""
    import gymnasium

    gym_id = f"clew/{name}-v0"
    if gym_id not in gymnasium.registry:
        gymnasium.register(
            id=gym_id,
            entry_point=partial(_late, "clew.envs.gym:ClewEnv", name),
            vector_entry_point=partial(_late, "clew.envs.gym:ClewVectorEnv", name),
        )


def _late(target: str, name: str, /, *arguments: object, **options: object) -> Any:
    """Import jax only when an environment is made."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)(name, *arguments, **options)
