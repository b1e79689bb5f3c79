"""When a conclusion depends on a choice: the scale, the control, or what was left out."""

from __future__ import annotations

import dataclasses

import numpy as np

from clew.analysis.formatting import number, signed
from clew.analysis.names import bonus_label
from clew.analysis.statistics import TaskStatistics
from clew.analysis.stats.intervals import Interval
from clew.analysis.stats.spread import Spread


@dataclasses.dataclass(frozen=True)
class Caution:
    """One choice on which the reading of the spread depends."""

    choice: str
    """'scale', 'control', 'noise' or 'failures'."""
    sentence: str


def cautions(statistics: TaskStatistics, bonus: str) -> list[Caution]:
    """Look again in log odds, with the control, without seed noise, and with failed runs as 0."""
    usual = statistics.spread(bonus)
    direction = sign(usual.delta)
    said: dict[str, str] = {}
    scaled = statistics.spread(bonus, "in log odds")
    if usual.delta.known and sign(scaled.delta) != direction:
        said["scale"] = _scale_sentence(bonus, usual, scaled)
    with_control = statistics.spread(bonus, "with the control")
    counted = statistics.task.lower in with_control.architectures
    if counted and sign(with_control.delta) != direction:
        said["control"] = _control_sentence(bonus, usual, with_control)
    if direction and usual.delta_beyond_noise / usual.delta.estimate < 0.5:
        said["noise"] = _noise_sentence(bonus, usual)
    again = statistics.with_failures.spread(bonus)
    if sign(again.delta) != direction:
        said["failures"] = _failure_sentence(bonus, usual, again)
    return [Caution(choice, sentence) for choice, sentence in said.items()]


def sign(interval: Interval) -> int:
    """+1 or −1 if the interval lies on one side of 0, else 0."""
    return int(np.sign(interval.estimate)) if interval.excludes(0) else 0


def _word(interval: Interval) -> str:
    return {1: "widens", 0: "does not measurably change", -1: "narrows"}[sign(interval)]


def _scale_sentence(bonus: str, usual: Spread, scaled: Spread) -> str:
    return (
        f"On the raw scale {bonus_label(bonus)} {_word(usual.delta)} the spread of architectures, "
        f"in log odds it {_word(scaled.delta)} it "
        f"(ratio of dispersions {number(usual.ratio.estimate, 2)} raw, "
        f"{number(scaled.ratio.estimate, 2)} logit)."
    )


def _control_sentence(bonus: str, usual: Spread, with_control: Spread) -> str:
    return (
        f"Among memory architectures {bonus_label(bonus)} {_word(usual.delta)} the spread "
        f"(ΔSEP {signed(usual.delta.estimate)}); with the memoryless control counted in, it "
        f"{_word(with_control.delta)} it (ΔSEP {signed(with_control.delta.estimate)})."
    )


def _noise_sentence(bonus: str, usual: Spread) -> str:
    return (
        f"More than half of the change of spread under {bonus_label(bonus)} is a change of seed "
        f"noise: ΔSEP is {signed(usual.delta.estimate)}, and "
        f"{signed(usual.delta_beyond_noise)} with the noise taken out."
    )


def _failure_sentence(bonus: str, usual: Spread, again: Spread) -> str:
    return (
        f"Without the runs that failed {bonus_label(bonus)} {_word(usual.delta)} the spread; "
        f"with them counted as success 0 it {_word(again.delta)} it "
        f"(ΔSEP {signed(usual.delta.estimate)} and {signed(again.delta.estimate)})."
    )
