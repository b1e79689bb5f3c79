"""Which memories there are, and how to make one by name. Importing this does not import jax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.registry import Registry

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

    from clew.memory.base import Architecture

architectures: Registry[Architecture] = Registry(
    "architecture", "clew.memory.architectures", "clew.memories"
)
GIVEN = ("in_size", "width", "key")
"""What the learner gives to every architecture; its other parameters are options."""
register = architectures.register
"""Decorates a memory's class with the name that `make` knows it by."""
names = architectures.names
"""The names that `make` accepts."""


def make(
    name: str, in_size: int = 128, width: int = 128, *, key: PRNGKeyArray, **options: object
) -> Architecture:
    """Make the memory called `name`; `names()` lists them, and each documents its options."""
    return architectures.make(name, in_size=in_size, width=width, key=key, **options)


def needs_knowledge(name: str) -> bool:
    """Whether the agents of this memory are given what a perfect one would know."""
    return getattr(architectures[name].factory(), "knowledge", False)
