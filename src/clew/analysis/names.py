"""The words of the study: in which order things are shown, and what they are called for short.

Whatever is not listed here (your own architecture, bonus or world) is shown after what is, in
alphabetical order, under its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MEMORYLESS = "Memoryless"
"""The control without a memory, which the spread of architectures leaves out."""
NONE = "none"
"""The arm without a bonus, which every gain is measured against."""

ARCHITECTURES = ("GRU", "LSTM", "RetNet", "GatedDeltaNet", "Mamba-2", MEMORYLESS)
BONUSES = {NONE: "none", "e3b": "E3B", "noveld": "NovelD"}
ENVIRONMENTS = {
    "MysteryPath-Grid": "MPG",
    "MiniGrid-MemoryS13": "S13",
    "MiniGrid-MemoryS13[view=7]": "S13 7×7",
    "TinyReproduce": "Tiny",
}
VIEWS = {"MiniGrid-MemoryS13": "3×3", "MiniGrid-MemoryS13[view=7]": "7×7"}
"""Variants of one world that stand in one table."""
REWARDS = ("sparse", "penalty", "aligned", "distractor", "dense", "native")

THRESHOLDS = {
    "MysteryPath-Grid": 0.30,
    "MiniGrid-MemoryS13": 0.75,
    "MiniGrid-MemoryS13[view=7]": 0.75,
    "TinyReproduce": 0.50,
}
"""Success that counts as having learnt the task, for the steps it took."""
LEARNT = 0.6
"""Tail mean above which a seed counts as having learnt a task with a chance floor of 0.5."""


def ordered(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Without repetition: those known first, in their order, then the others."""
    found = set(names)
    return (*(n for n in known if n in found), *sorted(found - set(known)))


def bonus_label(bonus: str) -> str:
    """'E3B' for 'e3b'; others as they are."""
    return BONUSES.get(bonus, bonus)


def task_label(environment: str, reward: str) -> str:
    """'MPG / sparse'."""
    return f"{ENVIRONMENTS.get(environment, environment)} / {reward}"


def threshold(environment: str) -> float:
    """The study's, or one half."""
    return THRESHOLDS.get(environment, 0.5)
