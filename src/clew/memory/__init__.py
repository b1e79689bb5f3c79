"""Six memories behind one interface: `step` for acting, `unroll` for learning."""

from clew.memory.base import Architecture, architectures, make, names, register
from clew.memory.describe import Description, describe

__all__ = ["Architecture", "Description", "architectures", "describe", "make", "names", "register"]
