"""Which worlds there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.registry import Registry

if TYPE_CHECKING:
    from clew.envs.base import Environment

environments: Registry[Environment] = Registry("environment", package="clew.envs.worlds")
register = environments.register
"""Decorates a world's class with the name that `make` knows it by."""


def make(name: str, **options: Any) -> Environment:
    """Make the world called `name`; `names()` lists them, and each documents its options."""
    return environments.make(name, **options)


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
