"""Published arms beside ours, under each reading of the paper that was trained far enough."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis.figures.style import INK, new, styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.published import STEPS
from clew.analysis.report.comparison import ArmSummary, published_summaries
from clew.analysis.reproduction.trained import TrainedArm
from clew.analysis.stats.intervals import half_width

LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "v"), ("#7a5195", "^"))
FAR = 0.85
"""Share of the study's steps from which an arm is drawn."""


def reproduction(trained: Sequence[TrainedArm]) -> Figure:
    """A row an arm: mean success and its 95% interval over seeds."""
    published = published_summaries()
    drawn = [e for e in trained if e.steps >= FAR * STEPS[e.arm[0]] and len(e.curves) > 1]
    arms = [arm for arm in published if any(e.arm == arm for e in drawn)]
    readings = list(dict.fromkeys(str(e.reading) for e in drawn))
    with styled():
        figure = new(6.4, 1.2 + 0.36 * len(arms))
        axes = figure.subplots()
        for k, reading in enumerate(["", *readings]):
            colour, mark = LOOKS[(k - 1) % len(LOOKS)] if reading else (INK, "D")
            label = f"ours, {reading}" if reading else "published"
            axes.plot([], [], mark, color=colour, ms=4, label=label)
            for row, arm in enumerate(arms):
                mine = [e.summary() for e in drawn if (e.arm, str(e.reading)) == (arm, reading)]
                for found in mine if reading else [published[arm]]:
                    _point(axes, row + 0.18 * k, found, colour, mark)
        names = [f"{task_label(*arm[:2])}: {arm[2]}, {bonus_label(arm[3])}" for arm in arms]
        axes.set_yticks([row + 0.25 for row in range(len(arms))], names)
        axes.set_ylim(len(arms) - 0.2, -0.4)
        axes.set_xlim(-0.02, 1)
        axes.set_xlabel(
            "success over the final fifth of training: mean and 95% interval over seeds"
        )
        axes.grid(axis="x", color="#dddddd", lw=0.5)
        figure.legend(loc="outside lower center", fontsize=7)
    return figure


def _point(axes: Axes, y: float, found: ArmSummary, colour: str, mark: str) -> None:
    half = half_width([found.std**2 / found.n], [found.n]) if found.std else 0.0
    axes.errorbar(found.mean, y, xerr=half, fmt=mark, color=colour, ms=4, lw=1.2)
