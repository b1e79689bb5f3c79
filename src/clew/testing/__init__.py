"""The laws of worlds, memories and bonuses, for tests of your own.

Each `check_…` raises an AssertionError whose text says what does not hold.
"""

from typing import TYPE_CHECKING

from clew.lazy import import_on_use

if TYPE_CHECKING:
    from clew.testing.bonus_laws import BONUS_LAWS, check_bonus
    from clew.testing.memory_laws import check_memory
    from clew.testing.world_laws import WORLD_LAWS, check_world

__getattr__ = import_on_use(__name__)
__all__ = ["BONUS_LAWS", "WORLD_LAWS", "check_bonus", "check_memory", "check_world"]
