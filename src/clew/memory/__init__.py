"""Memories behind one interface: `step` for acting, `unroll` for learning."""

from typing import TYPE_CHECKING

from clew.lazy import import_on_use
from clew.memory.registry import make, names, register

if TYPE_CHECKING:
    from clew.memory.base import Architecture
    from clew.memory.description import Description, describe

__getattr__ = import_on_use(__name__)
__all__ = ["Architecture", "Description", "describe", "make", "names", "register"]
