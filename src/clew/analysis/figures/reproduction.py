"""Published arms beside ours, under each reading of the paper that was trained far enough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis.figures.style import INK, new, styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.published import STEPS
from clew.analysis.report.comparison import Arm, ArmSummary, published_summaries
from clew.analysis.reproduction.trained import TrainedArm
from clew.analysis.stats.intervals import half_width

PUBLISHED, SUITES, OTHERS = "published", "ours, suite paper", "ours, other readings of the paper"
LOOKS = {PUBLISHED: (INK, "D"), SUITES: ("#d55e00", "o"), OTHERS: ("#a9b4c0", "s")}
FAR = 0.85
"""Share of the study's steps from which an arm is drawn."""


def reproduction(trained: Sequence[TrainedArm]) -> Figure:
    """A row an arm: mean success and its 95% interval over seeds."""
    published = published_summaries()
    drawn = [e for e in trained if e.steps >= FAR * STEPS[e.arm[0]] and len(e.curves) > 1]
    arms = [arm for arm in published if any(e.arm == arm for e in drawn)]
    columns = _columns(arms)
    with styled():
        figure = new(5.6 * len(columns), 1.5 + 0.3 * max(map(len, columns)))
        panels = figure.subplots(1, len(columns), squeeze=False)[0]
        for axes, part in zip(panels, columns, strict=True):
            for row, arm in enumerate(part):
                for each in (e for e in drawn if e.arm == arm):
                    suites = each.reading.of_suite
                    y = row + (0.2 if suites else 0.4)
                    _point(axes, y, each.summary(), *LOOKS[SUITES if suites else OTHERS])
                _point(axes, row, published[arm], *LOOKS[PUBLISHED])
            names = [f"{task_label(*arm[:2])}: {arm[2]}, {bonus_label(arm[3])}" for arm in part]
            axes.set_yticks([row + 0.2 for row in range(len(part))], names)
            axes.set_ylim(len(part) - 0.2, -0.4)
            axes.set_xlim(-0.02, 1.02)
            axes.set_xlabel("success over the final fifth of training: mean, 95% interval")
            axes.grid(axis="x", color="#dddddd", lw=0.5)
        for label, (colour, mark) in LOOKS.items():
            panels[0].plot([], [], mark, color=colour, ms=4, label=label)
        figure.legend(loc="outside lower center", fontsize=7, ncols=len(LOOKS))
    return figure


def _columns(arms: Sequence[Arm]) -> list[list[Arm]]:
    """One or two, about equally long; a world stays whole."""
    worlds: dict[str, list[Arm]] = {}
    for arm in arms:
        worlds.setdefault(arm[0].partition("[")[0], []).append(arm)
    parts = list(worlds.values())
    splits = [
        [list(chain(*half)) for half in (parts[:i], parts[i:]) if half]
        for i in range(1, len(parts) + 1)
    ]
    return min(splits, key=lambda split: max(map(len, split)))


def _point(axes: Axes, y: float, found: ArmSummary, colour: str, mark: str) -> None:
    half = half_width([found.std**2 / found.n], [found.n]) if found.std else 0.0
    axes.errorbar(found.mean, y, xerr=half, fmt=mark, color=colour, ms=4, lw=1.2)
