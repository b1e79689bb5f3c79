"""The words of the study: in which order things are shown, and what they are called for short.

Whatever is not listed here (your own architecture or bonus) is shown after what is, in
alphabetical order, under its own name. Worlds say themselves how they are shown.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from clew.envs import display
from clew.labels import BONUSES, GIVEN, MEMORYLESS, NONE, bonus_label

__all__ = [
    "ARCHITECTURES",
    "BONUSES",
    "GIVEN",
    "LEARNT",
    "MEMORYLESS",
    "NONE",
    "REWARDS",
    "bonus_label",
    "file_names",
    "ordered",
    "task_label",
]

ARCHITECTURES = ("GRU", "LSTM", "RetNet", "GatedDeltaNet", "Mamba-2", MEMORYLESS, GIVEN)
REWARDS = ("sparse", "penalty", "aligned", "distractor", "dense", "native")
LEARNT = 0.6
"""Tail mean above which a seed counts as having learnt a task with a chance floor of 0.5."""


def ordered(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Without repetition: those known first, in their order, then the others."""
    found = set(names)
    return (*(n for n in known if n in found), *sorted(found - set(known)))


def task_label(environment: str, reward: str) -> str:
    """'MPG / sparse'."""
    return f"{display(environment).label} / {reward}"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """For each name one that a file may have; names that would share one get a digest, too.

    Upper and lower case are the same to some disks.
    """
    plain = {n: "".join(c if c.isalnum() or c in "-." else "_" for c in n) for n in names}
    shared = Counter(stem.casefold() for stem in plain.values())
    return {
        name: stem if shared[stem.casefold()] == 1 else f"{stem}-{_digest(name)}"
        for name, stem in plain.items()
    }


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
