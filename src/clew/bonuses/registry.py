"""Which bonuses there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.registry import Registry

if TYPE_CHECKING:
    from clew.bonuses.base import Bonus

bonuses: Registry[Bonus] = Registry("bonus", "clew.bonuses.methods", "clew.bonuses")
register = bonuses.register
"""Decorates a bonus's class with the name that `make` knows it by."""
names = bonuses.names
"""The names that `make` accepts."""


def make(name: str, /, **options: object) -> Bonus:
    """Make the bonus called `name`; `names()` lists them, and each documents its options."""
    return bonuses.make(name, **options)
