"""What is told of a pack while it is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from clew.learner import Progress

What = Literal["compiling", "training", "finished", "stopped", "failed", "found"]
OVER = ("finished", "failed", "found")
"""After these a pack needs no worker."""
UNKNOWN = float("nan")


class Step(NamedTuple):
    """Where a pack stands, for whoever watches."""

    name: str
    what: What
    """found: it had come to its end already, here or elsewhere."""
    leg: int
    legs: int
    steps: int = 0
    """Environment steps of all its runs since it was taken up."""
    seconds: float = 0.0
    """Spent on them, compilation apart."""
    success: float = UNKNOWN
    """Mean over runs at the last evaluation; NaN before the first."""
    compiled: float = 0.0
    """Seconds from when it was taken up to its first step: compilation."""
    left: float = UNKNOWN
    """Seconds that its other legs will take at this pace; NaN before the first."""

    def plain(self) -> dict[str, Any]:
        """As JSON has it, which does not know NaN."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in self._asdict().items()
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Step:
        """From what `plain` made."""
        known: dict[str, Any] = {
            name: UNKNOWN if plain[name] is None else plain[name] for name in cls._fields
        }
        return cls(**known)


Watch = Callable[[Step], None]


def over(name: str, what: What, legs: int) -> Step:
    """Of a pack that has come to its end without a number to tell."""
    return Step(name, what, legs, legs)


@dataclass
class Account:
    """What has happened to a pack since it was taken up."""

    name: str
    first: int
    """Legs that were done before."""
    legs: int
    leg_steps: int
    """Environment steps of a leg, all runs together."""
    leg: int = field(init=False)
    seconds: float = 0.0
    success: float = UNKNOWN
    compiled: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.leg = self.first

    def add(self, now: Progress) -> None:
        """A leg that was trained just now."""
        if self.leg == self.first:
            self.compiled = max(0.0, time.perf_counter() - self.began - now.seconds)
        self.leg = now.leg
        self.seconds += now.seconds
        self.success = _mean(np.asarray(now.record.evaluation.success))

    def step(self, what: What) -> Step:
        """To tell."""
        trained = self.leg - self.first
        return Step(
            name=self.name,
            what=what,
            leg=self.leg,
            legs=self.legs,
            steps=trained * self.leg_steps,
            seconds=self.seconds,
            success=self.success,
            compiled=self.compiled,
            left=(self.legs - self.leg) * self.seconds / trained if trained else UNKNOWN,
        )


def _mean(success: np.ndarray) -> float:
    """Over the runs that have not diverged; NaN if all have."""
    sound = success[~np.isnan(success)]
    return float(sound.mean()) if len(sound) else UNKNOWN
