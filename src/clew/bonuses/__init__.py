"""Exploration bonuses; each sees observations and actions, and nothing of the agent."""

from typing import TYPE_CHECKING

from clew.bonuses.registry import bonuses, make, names, register
from clew.lazy import import_on_use

if TYPE_CHECKING:
    from clew.bonuses.base import Bonus, BonusState, RunningStd, Transitions
    from clew.bonuses.one_of import OneOf

__getattr__ = import_on_use(__name__)
__all__ = [
    "Bonus",
    "BonusState",
    "OneOf",
    "RunningStd",
    "Transitions",
    "bonuses",
    "make",
    "names",
    "register",
]
