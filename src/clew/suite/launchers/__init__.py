"""Where a suite runs: launchers that only start workers, all of them on one store."""

from clew.suite.launchers.base import NAMES, Launcher, Resources, launcher
from clew.suite.worker import WorkerConfig, run_worker

__all__ = ["NAMES", "Launcher", "Resources", "WorkerConfig", "launcher", "run_worker"]
