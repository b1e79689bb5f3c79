"""What to run, where, and what came of it: suites, packs, workers, and the results store."""

from clew.suite.library import find_suite, names
from clew.suite.plan import Planned, plan
from clew.suite.spec import RunSpec, from_config
from clew.suite.stop import Stop, seconds_of
from clew.suite.suite import Block, Suite
from clew.suite.toml import read_suite
from clew.suite.training import Step
from clew.suite.worker import Outcome, work

__all__ = [
    "Block",
    "Outcome",
    "Planned",
    "RunSpec",
    "Step",
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
