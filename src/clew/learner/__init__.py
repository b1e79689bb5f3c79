"""Recurrent PPO with episodic bonuses: one compiled program trains a pack of runs."""

from typing import TYPE_CHECKING

from clew.lazy import import_on_use

if TYPE_CHECKING:
    from clew.learner.checkpoint import from_arrays, to_arrays
    from clew.learner.pack import Pack
    from clew.learner.program import Program, RunParams
    from clew.learner.run import TrainState
    from clew.learner.settings import Knobs, Settings
    from clew.learner.training import History, Progress, periods, periods_in, train

__getattr__ = import_on_use(__name__)
__all__ = [
    "History",
    "Knobs",
    "Pack",
    "Program",
    "Progress",
    "RunParams",
    "Settings",
    "TrainState",
    "from_arrays",
    "periods",
    "periods_in",
    "to_arrays",
    "train",
]
