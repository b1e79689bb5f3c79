"""Which worlds there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from clew.registry import Registry
from clew.validate import known_names

if TYPE_CHECKING:
    from clew.envs.base import Environment

environments: Registry[Environment] = Registry("environment", package="clew.envs.worlds")
register = environments.register
"""Decorates a world's class with the name that `make` knows it by."""


def make(name: str, **options: Any) -> Environment:
    """Make the world called `name`; `names()` lists them, and each documents its options."""
    entry = environments[name]
    factory = entry.factory()
    fields = {f.name for f in dataclasses.fields(factory) if f.init}  # type: ignore[arg-type]
    known_names(f"option of {name}", options, fields)
    clash = {k: v for k, v in options.items() if k in entry.preset and entry.preset[k] != v}
    for option, value in clash.items():
        raise ValueError(
            f"{option}={value!r} contradicts the name {name!r}, which means "
            f"{option}={entry.preset[option]!r}"
        )
    return factory(**{**entry.preset, **options})


def names() -> tuple[str, ...]:
    """The names that `make` accepts."""
    return environments.names()


def register_with_gymnasium() -> None:
    """Make every world available as `gymnasium.make("clew/NAME-v0", reward=…, **options)`."""
    import gymnasium

    for name in names():
        gym_id = f"clew/{name}-v0"
        if gym_id not in gymnasium.registry:
            gymnasium.register(
                id=gym_id,
                entry_point="clew.envs.gym:ClewEnv",
                vector_entry_point="clew.envs.gym_vector:ClewVectorEnv",
                kwargs={"world": name},
            )
