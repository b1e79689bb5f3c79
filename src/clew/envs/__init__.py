"""Worlds as pure functions: a step emits events, and a reward variant prices them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.envs.registry import (
    Display,
    display,
    latents,
    make,
    names,
    register,
    show_as,
    shown_first,
)
from clew.lazy import import_on_use

if TYPE_CHECKING:
    from clew.envs.autoreset import Running, advance, begin, lay_out
    from clew.envs.base import Environment, Step, priced
    from clew.envs.enumeration import Enumeration
    from clew.envs.episodes import Episodes, random_episodes
    from clew.envs.knowing import Knowing
    from clew.envs.knowledge import Knowledge, Known
    from clew.envs.latent import Asked, Latent

__getattr__ = import_on_use(__name__)
__all__ = [
    "Asked",
    "Display",
    "Enumeration",
    "Environment",
    "Episodes",
    "Knowing",
    "Knowledge",
    "Known",
    "Latent",
    "Running",
    "Step",
    "advance",
    "begin",
    "display",
    "latents",
    "lay_out",
    "make",
    "names",
    "priced",
    "random_episodes",
    "register",
    "show_as",
    "shown_first",
]
