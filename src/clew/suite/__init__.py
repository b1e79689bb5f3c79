"""What to run, where, and what came of it: suites, packs, workers, and the results store.

The names below are imported when they are first asked for: whoever reads a store comes through
here too, and must not have to load jax.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.suite.library import find_suite, names
    from clew.suite.planning import PackSpec, plan
    from clew.suite.progress import PackProgress
    from clew.suite.spec import RunSpec, from_config
    from clew.suite.stop import Stop, seconds_of
    from clew.suite.suite import Block, Suite
    from clew.suite.toml import read_suite
    from clew.suite.worker import Outcome, work

_HOMES = {
    "library": ("find_suite", "names"),
    "planning": ("PackSpec", "plan"),
    "spec": ("RunSpec", "from_config"),
    "progress": ("PackProgress",),
    "stop": ("Stop", "seconds_of"),
    "suite": ("Block", "Suite"),
    "toml": ("read_suite",),
    "worker": ("Outcome", "work"),
}
# A module may not have the name of something here: once imported, it would stand in its place.
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Block",
    "Outcome",
    "PackProgress",
    "PackSpec",
    "RunSpec",
    "Stop",
    "Suite",
    "find_suite",
    "from_config",
    "names",
    "plan",
    "read_suite",
    "seconds_of",
    "work",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found
