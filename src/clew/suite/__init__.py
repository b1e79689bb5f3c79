"""What to run, where, and what came of it: suites, packs, workers, and the results store.

The names below are imported when they are first asked for, so that reading a store does not
import jax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.lazy import import_on_use
from clew.suite.registry import find_suite, names

if TYPE_CHECKING:
    from clew.suite.packs import PackSpec
    from clew.suite.planning import plan
    from clew.suite.progress import PackProgress
    from clew.suite.spec import RunSpec, from_config
    from clew.suite.stop import Stop, seconds_of
    from clew.suite.suite import Block, Suite
    from clew.suite.toml import read_suite
    from clew.suite.worker import Outcome, work

__getattr__ = import_on_use(__name__)
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
