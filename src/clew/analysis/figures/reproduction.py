"""Published arms beside ours, under each reading of the paper that was trained far enough."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis.figures.style import INK, new, styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.published import STEPS
from clew.analysis.report.comparison import ArmSummary, published_summaries
from clew.analysis.reproduction.trained import DETAILS, DETAILS_OPTIONS, TrainedArm
from clew.analysis.stats.intervals import half_width

PUBLISHED = (INK, "D")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7a5195", "#b8860b", "#56b4e9", "#cc79a7")
MARKS = ("o", "s", "v", "^", "P", "X", "<", ">")
"""One more than colours, so that both come again together only after 56 readings."""
FAR = 0.85
"""Share of the study's steps from which an arm is drawn."""


def reproduction(trained: Sequence[TrainedArm]) -> Figure:
    """A row an arm: mean success and its 95% interval over seeds."""
    published = published_summaries()
    drawn = [e for e in trained if e.steps >= FAR * STEPS[e.arm[0]] and len(e.curves) > 1]
    arms = [arm for arm in published if any(e.arm == arm for e in drawn)]
    readings = list(dict.fromkeys(_bonus_of(e) for e in drawn if e.arm in arms))
    with styled():
        figure = new(6.4, 1.2 + 0.36 * len(arms))
        axes = figure.subplots()
        looks = {
            reading: (COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)])
            for i, reading in enumerate(readings)
        }
        for label, (colour, mark) in {"published": PUBLISHED, **looks}.items():
            axes.plot([], [], mark, color=colour, ms=4, label=label)
        for row, arm in enumerate(arms):
            _point(axes, row, published[arm], *PUBLISHED)
            mine = sorted((e for e in drawn if e.arm == arm), key=_bonus_of)
            for k, each in enumerate(mine):
                _point(axes, row + 0.2 * (k + 1), each.summary(), *looks[_bonus_of(each)])
        names = [f"{task_label(*arm[:2])}: {arm[2]}, {bonus_label(arm[3])}" for arm in arms]
        axes.set_yticks([row + 0.2 for row in range(len(arms))], names)
        axes.set_ylim(len(arms) - 0.2, -0.4)
        axes.set_xlim(-0.02, 1)
        axes.set_xlabel(
            "success over the final fifth of training: mean and 95% interval over seeds"
        )
        axes.grid(axis="x", color="#dddddd", lw=0.5)
        figure.legend(loc="outside lower center", fontsize=7)
    return figure


def _bonus_of(each: TrainedArm) -> str:
    """What tells the arms that are drawn apart, besides their own names."""
    if each.arm[3] == "none":
        return "ours, without a bonus"
    options = each.reading.bonus_options.replace(DETAILS_OPTIONS, DETAILS)
    knobs = f", {each.reading.knobs}" if each.reading.knobs else ""
    return f"ours, {bonus_label(each.arm[3])}: {options or 'as Clew has it'}{knobs}"


def _point(axes: Axes, y: float, found: ArmSummary, colour: str, mark: str) -> None:
    half = half_width([found.std**2 / found.n], [found.n]) if found.std else 0.0
    axes.errorbar(found.mean, y, xerr=half, fmt=mark, color=colour, ms=4, lw=1.2)
