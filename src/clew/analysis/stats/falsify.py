"""The memoryless control: a bonus that helps it helps by something other than memory."""

from __future__ import annotations

import dataclasses

from clew.analysis.names import MEMORYLESS, NONE
from clew.analysis.stats.families import holm
from clew.analysis.stats.gains import welch_p
from clew.analysis.stats.improvement import improvement
from clew.analysis.stats.intervals import Interval, welch
from clew.analysis.stats.task import Task, Values


@dataclasses.dataclass(frozen=True)
class Control:
    """What one bonus does to the agent without a memory."""

    task: str
    bonus: str
    none: Values
    values: Values
    gain: Interval
    improvement: Interval
    p_holm: float
    """Over every task and bonus that was asked about together."""

    @property
    def reading(self) -> str:
        """'helped', 'hurt' or 'not moved'."""
        if not self.p_holm < 0.05:
            return "not moved"
        return "helped" if self.gain.estimate > 0 else "hurt"


def controls(tasks: list[Task]) -> list[Control]:
    """Every task and bonus under which the control ran, with and without."""
    asked = [(t, b) for t in tasks for b in t.bonuses if MEMORYLESS in t.both(b, control=True)]
    pairs = [(t.arms[MEMORYLESS, b], t.arms[MEMORYLESS, NONE]) for t, b in asked]
    corrected = holm([welch_p(*pair) for pair in pairs])
    return [
        Control(t.label, b, pair[1], pair[0], welch(*pair), improvement(*pair), p)
        for (t, b), pair, p in zip(asked, pairs, corrected, strict=True)
    ]
