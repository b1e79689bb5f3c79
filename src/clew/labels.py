"""What controls and bonuses are called, for whoever shows them; the analysis is not needed."""

from __future__ import annotations

MEMORYLESS = "Memoryless"
"""The lower control: no memory."""
GIVEN = "Given"
"""The upper control: no memory either, but it is given what a perfect one would hold."""
NONE = "none"
"""The arm without a bonus, which every gain is measured against."""
BONUSES = {
    NONE: "none", "e3b": "E3B", "noveld": "NovelD", "ride": "RIDE", "rnd": "RND", "icm": "ICM"
}  # fmt: skip


def bonus_label(bonus: str) -> str:
    """'E3B' for 'e3b'; others as they are."""
    return BONUSES.get(bonus, bonus)
