"""Episodic exploration bonuses; each sees only the instantaneous observation."""

from clew.bonuses.base import Bonus, Transitions, bonuses, make, names, register
from clew.bonuses.delivery import BonusState, RunningStd

__all__ = [
    "Bonus",
    "BonusState",
    "RunningStd",
    "Transitions",
    "bonuses",
    "make",
    "names",
    "register",
]
