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
    period: int
    periods: int
    steps: int = 0
    """Environment steps of all its runs since it was taken up."""
    seconds: float = 0.0
    """Spent on them, compilation apart."""
    success: float = UNKNOWN
    """Mean over runs at the last evaluation; NaN before the first."""
    compiled: float = 0.0
    """Seconds from when it was taken up to its first step: compilation."""
    left: float = UNKNOWN
    """Seconds that its other periods will take at this pace; NaN before the first."""

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


def over(name: str, what: What, periods: int) -> Step:
    """Of a pack that has come to its end without a number to tell."""
    return Step(name, what, periods, periods)


@dataclass
class Account:
    """What has happened to a pack since it was taken up."""

    name: str
    first: int
    """Periods that were done before."""
    periods: int
    period_steps: int
    """Environment steps of a period, all runs together."""
    period: int = field(init=False)
    seconds: float = 0.0
    success: float = UNKNOWN
    compiled: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.period = self.first

    def add(self, now: Progress) -> None:
        """A period that was trained just now."""
        if self.period == self.first:
            self.compiled = max(0.0, time.perf_counter() - self.began - now.seconds)
        self.period = now.period
        self.seconds += now.seconds
        self.success = _mean(np.asarray(now.record.evaluation.success))

    def step(self, what: What) -> Step:
        """To tell."""
        trained = self.period - self.first
        return Step(
            name=self.name,
            what=what,
            period=self.period,
            periods=self.periods,
            steps=trained * self.period_steps,
            seconds=self.seconds,
            success=self.success,
            compiled=self.compiled,
            left=(self.periods - self.period) * self.seconds / trained if trained else UNKNOWN,
        )


def _mean(success: np.ndarray) -> float:
    """Over the runs that have not diverged; NaN if all have."""
    sound = success[~np.isnan(success)]
    return float(sound.mean()) if len(sound) else UNKNOWN
