"""Episodic exploration bonuses; each sees only the instantaneous observation."""

from clew.bonuses.base import Bonus, Seen, bonuses, make, names, register
from clew.bonuses.delivery import Delivery, Scale

__all__ = ["Bonus", "Delivery", "Scale", "Seen", "bonuses", "make", "names", "register"]
