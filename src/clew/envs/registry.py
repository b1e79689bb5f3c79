"""Which worlds there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clew.registry import Registry

if TYPE_CHECKING:
    from clew.envs.base import Environment

F = TypeVar("F", bound=Callable[..., Any])

environments: Registry[Environment] = Registry("environment", package="clew.envs.worlds")


def make(name: str, /, **options: Any) -> Environment:
    """Make the world called `name`; `names()` lists them, and each documents its options."""
    return environments.make(name, **options)


def names() -> tuple[str, ...]:
    """The names that `make` accepts."""
    return environments.names()


def register(name: str, **preset: Any) -> Callable[[F], F]:
    """Decorate a world's class with the name that `make` and Gymnasium know it by."""

    def decorate(factory: F) -> F:
        environments.add(name, factory, **preset)
        if importlib.util.find_spec("gymnasium") is not None:
            register_with_gymnasium(name)
        return factory

    return decorate


def register_with_gymnasium(name: str) -> None:
    """Make a world available as `gymnasium.make("clew/NAME-v0", reward=…, **options)`."""
    import gymnasium

    gym_id = f"clew/{name}-v0"
    if gym_id not in gymnasium.registry:
        gymnasium.register(
            id=gym_id,
            entry_point=partial(_late, "clew.envs.gym:ClewEnv", name),
            vector_entry_point=partial(_late, "clew.envs.gym_vector:ClewVectorEnv", name),
        )


def _late(target: str, name: str, /, *arguments: Any, **options: Any) -> Any:
    """Import jax only when an environment is made."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)(name, *arguments, **options)
