"""When a conclusion hangs on a choice: the scale, the control, or what was left out."""

from __future__ import annotations

import dataclasses

import numpy as np

from clew.analysis.names import MEMORYLESS, bonus_label
from clew.analysis.stats.intervals import Interval
from clew.analysis.stats.resample import RESAMPLES
from clew.analysis.stats.spread import Spread, spread
from clew.analysis.stats.task import Task, logit, rescaled
from clew.analysis.table import Results
from clew.analysis.words import number, signed


@dataclasses.dataclass(frozen=True)
class Caution:
    """One choice on which the reading of the spread depends."""

    bonus: str
    choice: str
    """'scale', 'control', 'noise' or 'failures'."""
    sentence: str


def cautions(
    task: Task, bonus: str, results: Results | None = None, resamples: int = RESAMPLES
) -> list[Caution]:
    """Look again in log odds, with the control, without seed noise, and with failed runs as 0."""
    usual = spread(task, bonus, resamples=resamples)
    direction = sign(usual.delta)
    found = []
    scaled = spread(rescaled(task, logit), bonus, resamples=resamples)
    if usual.delta.known and sign(scaled.delta) != direction:
        found.append(Caution(bonus, "scale", _scale_sentence(bonus, usual, scaled)))
    with_control = spread(task, bonus, control=True, resamples=resamples)
    if MEMORYLESS in with_control.architectures and sign(with_control.delta) != direction:
        found.append(Caution(bonus, "control", _control_sentence(bonus, usual, with_control)))
    if direction and usual.delta_beyond_noise / usual.delta.estimate < 0.5:
        found.append(Caution(bonus, "noise", _noise_sentence(bonus, usual)))
    filled = failures_as_zero(task, results) if results is not None else task
    if filled is not task:
        again = spread(filled, bonus, resamples=resamples)
        if sign(again.delta) != direction:
            found.append(Caution(bonus, "failures", _failure_sentence(bonus, usual, again)))
    return found


def sign(interval: Interval) -> int:
    """+1 or −1 if the interval lies on one side of 0, else 0."""
    return int(np.sign(interval.estimate)) if interval.excludes(0) else 0


def failures_as_zero(task: Task, results: Results) -> Task:
    """The task with every run that diverged or failed counted as no success at all."""
    runs = results.runs
    here = (runs["environment"] == task.environment) & (runs["reward"] == task.reward)
    lost = runs[here & runs["status"].isin(["diverged", "failed"])]
    if lost.empty:
        return task
    arms = dict(task.arms)
    for (architecture, bonus), group in lost.groupby(["architecture", "bonus"], sort=True):
        arm = (str(architecture), str(bonus))
        arms[arm] = np.concatenate([np.zeros(len(group)), arms.get(arm, np.empty(0))])
    return dataclasses.replace(task, arms=arms)


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
