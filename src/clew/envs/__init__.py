"""Worlds as pure functions: a step emits events, and a reward variant prices them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clew.envs.registry import make, names, register

if TYPE_CHECKING:
    from clew.envs.autoreset import Running, advance, begin, lay_out
    from clew.envs.base import Environment, Step, priced
    from clew.envs.episodes import Episodes, random_episodes
    from clew.envs.latent import Asked, Latent

__all__ = [
    "Asked",
    "Environment",
    "Episodes",
    "Latent",
    "Running",
    "Step",
    "advance",
    "begin",
    "lay_out",
    "make",
    "names",
    "priced",
    "random_episodes",
    "register",
]

# Everything that needs jax is imported on first use: naming the worlds must stay cheap.
_HOMES = {
    "autoreset": ("Running", "advance", "begin", "lay_out"),
    "base": ("Environment", "Step", "priced"),
    "episodes": ("Episodes", "random_episodes"),
    "latent": ("Asked", "Latent"),
}


def __getattr__(name: str) -> Any:
    for module, public in _HOMES.items():
        if name in public:
            return getattr(importlib.import_module(f"clew.envs.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
