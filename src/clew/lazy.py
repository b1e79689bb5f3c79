"""Packages whose names are imported when they are first asked for.

    if TYPE_CHECKING:
        from clew.learner.pack import Pack

    __getattr__ = import_on_use(__name__)

makes `clew.learner.Pack` work and `import clew.learner` cheap. None of these names may be that of a
module of the package: once such a module is imported, it would stand in the name's place.
"""  # fmt: skip

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

from clew.source import type_checking_imports


def import_on_use(package: str) -> Callable[[str], object]:
    """A `__getattr__` for a package: it imports what stands under its `if TYPE_CHECKING`."""

    def get(name: str) -> object:
        home = type_checking_imports(package).get(name) if not name.startswith("__") else None
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return get
