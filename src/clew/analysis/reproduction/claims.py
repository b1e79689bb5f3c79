"""The paper's claims as differences between two arms, and whether our runs bear them out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from clew.analysis.published import STEPS
from clew.analysis.report.comparison import Arm, ArmSummary, difference
from clew.analysis.reproduction.trained import Reading, TrainedArm
from clew.analysis.stats.effects import MARGIN
from clew.analysis.stats.intervals import Interval
from clew.labels import bonus_label
from clew.store.names import listed

Direction = Literal["above", "below", "like"]
Outcome = Literal["holds", "does not hold", "open"]
UNTRAINED = "not trained yet as in suite paper"
SMALL = 0.1
"""A difference that the paper calls hardly any: its own, with its interval, is inside."""


class Claim(NamedTuple):
    """The first arm's success is above, below, or like the second's."""

    name: str
    says: str
    first: Arm
    second: Arm
    expected: Direction

    def outcome(self, found: Interval) -> Outcome:
        """By the 95% interval of the difference.

        Above holds if all of it is above 0, and does not if all of it is under 0.05; below is the
        same with the other sign. Like holds inside ±0.1, and does not if all of it is outside. By
        these rules every claim holds of the published figures.
        """
        if not found.known:
            return "open"
        sign = -1 if self.expected == "below" else 1
        low, high = sorted((sign * found.low, sign * found.high))
        if self.expected == "like":
            outside = low > SMALL or high < -SMALL
            return "holds" if found.within(SMALL) else "does not hold" if outside else "open"
        return "holds" if low > 0 else "does not hold" if high < MARGIN else "open"


def _bonus(
    name: str,
    says: str,
    task: tuple[str, str],
    memory: str,
    expected: Direction,
    bonus: str = "e3b",
) -> Claim:
    """A bonus against none."""
    return Claim(name, says, (*task, memory, bonus), (*task, memory, "none"), expected)


def _null(bonus: str, memory: str) -> Claim:
    """A bonus where there is nothing to seek."""
    says = f"{bonus_label(bonus)} changes nothing for {memory} on TinyReproduce, dense"
    return _bonus("null", says, TINY_DENSE, memory, "like", bonus)


def _lift(bonus: str, memory: str) -> Claim:
    """A bonus where a cue must be sought, and is easily kept."""
    says = f"{bonus_label(bonus)} lifts {memory} on MemoryS13"
    return _bonus("equalisation", says, S13_SPARSE, memory, "above", bonus)


def _penalty(says: str, memory: str) -> Claim:
    """A penalty against none, both without a bonus."""
    return Claim("penalty", says, (PATH, "penalty", memory, "none"), (*PATH_SPARSE, memory, "none"),
                 "below")  # fmt: skip


PATH = "MysteryPath-Grid"
PATH_SPARSE, PATH_PENALTY = (PATH, "sparse"), (PATH, "penalty")
PATH_ALIGNED, PATH_DISTRACTOR = (PATH, "aligned"), (PATH, "distractor")
S13_SPARSE, TINY_DENSE = ("MiniGrid-MemoryS13", "sparse"), ("TinyReproduce", "dense")
ALIGNED = "where the reward supervises memory, E3B harms"
CLAIMS = (
    _bonus("amplification", "E3B lifts RetNet on MysteryPath", PATH_SPARSE, "RetNet", "above"),
    _bonus("amplification", "E3B hardly lifts GRU on MysteryPath", PATH_SPARSE, "GRU", "like"),
    _bonus("memoryless", "E3B lowers Memoryless on MysteryPath", PATH_SPARSE,
           "Memoryless", "below"),
    _penalty("a penalty for falls ends RetNet's learning", "RetNet"),
    _penalty("a penalty for falls ends GRU's learning", "GRU"),
    _bonus("penalty", "E3B rescues RetNet from the penalty", PATH_PENALTY, "RetNet", "above"),
    _bonus("aligned", f"{ALIGNED} RetNet", PATH_ALIGNED, "RetNet", "below"),
    _bonus("aligned", f"{ALIGNED} GRU", PATH_ALIGNED, "GRU", "below"),
    _bonus("distractor", "a useless dense reward leaves RetNet E3B's gain", PATH_DISTRACTOR,
           "RetNet", "above"),
    *(_lift(bonus, memory) for bonus in ("e3b", "noveld") for memory in ("GRU", "RetNet")),
    *(_null(bonus, memory)
      for bonus in ("e3b", "noveld") for memory in ("GRU", "LSTM")),
)  # fmt: skip
"""Of the paper's text, in its order. Its claims P1 to P6 are about probes of trained agents."""


class UnderReading(NamedTuple):
    """A claim, as far as one reading was trained."""

    reading: Reading
    steps: int
    share: float
    """Of the steps that the study trained."""
    difference: Interval
    outcome: Outcome


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim, as published and under every reading that was trained for long enough."""

    claim: Claim
    published: Interval
    found: tuple[UnderReading, ...]

    @property
    def outcome(self) -> str:
        """As the suite `paper` has it."""
        return next((e.outcome for e in self.found if e.reading.of_suite), UNTRAINED)

    @property
    def in_words(self) -> str:
        """The outcome, and under how many other readings it comes out how."""
        counted = Counter(each.outcome for each in self.found if not each.reading.of_suite)
        others = listed(f"{outcome} in {n}" for outcome, n in counted.most_common())
        return self.outcome.upper() + (f"; other readings: {others}" if others else "")


def judge(
    claim: Claim, trained: Sequence[TrainedArm], published: Mapping[Arm, ArmSummary]
) -> Judged:
    """Both arms over the same evaluations.

    The suite's reading from half of the study's steps on; of the others, those at least half as
    long as the longest.
    """
    firsts = [each for each in trained if each.arm == claim.first]
    found: list[UnderReading] = []
    for first in firsts:
        like = first.reading if claim.second[3] != "none" else first.reading.without_bonus
        for second in trained:
            same = second.arm == claim.second and second.period == first.period
            if same and second.reading == like:
                evaluations = min(first.evaluations, second.evaluations)
                gap = difference(first.summary(evaluations), second.summary(evaluations))
                steps = first.period * evaluations
                share = steps / STEPS[claim.first[0]]
                found.append(UnderReading(first.reading, steps, share, gap, claim.outcome(gap)))
    longest = max((each.steps for each in found if not each.reading.of_suite), default=0)
    return Judged(
        claim,
        difference(published[claim.first], published[claim.second]),
        tuple(
            each
            for each in found
            if (each.share >= 0.5 if each.reading.of_suite else 2 * each.steps >= longest)
        ),
    )
