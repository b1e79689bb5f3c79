"""Where a suite runs: launchers that only start workers, all of them on one store."""

from clew.suite.fleet.order import Order, Resources
from clew.suite.fleet.places import NAMES, Launcher, launcher
from clew.suite.fleet.serve import serve

__all__ = ["NAMES", "Launcher", "Order", "Resources", "launcher", "serve"]
