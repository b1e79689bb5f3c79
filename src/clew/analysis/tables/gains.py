"""What a bonus gains: within each architecture, how often it wins, and in the control."""

from __future__ import annotations

import math

from clew.analysis import formatting, names
from clew.analysis.names import NONE, bonus_label
from clew.analysis.statistics import Statistics, TaskStatistics
from clew.analysis.stats.gains import Gain
from clew.analysis.stats.intervals import Interval
from clew.analysis.stats.task import Values
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, plus_minus, word


@TABLES.register("gains")
def gain_table(statistics: Statistics) -> Grid:
    """Every within-architecture gain, with what could have been seen."""
    return Grid(
        name="gains",
        caption="Gain in mean success over no bonus, within each architecture",
        columns=("Architecture", "Bonus", "Gain", "95% (Welch)", "95% (bootstrap)", "p (Holm)",
                 "detectable"),
        sections=[(t.task.label, [_gain(gain) for gain in t.gains]) for t in statistics.tasks],
        left=2,
        note="Bold: p < 0.05 after Holm's correction over the task. Detectable: the smallest true "
        "gain that seeds like these show with 80% probability.",
    )  # fmt: skip


@TABLES.register("improvement")
def improvement_table(statistics: Statistics) -> Grid:
    """Probability of improvement of every memory architecture, by task: E3B / NovelD."""
    group = [found for found in statistics.tasks if found.task.bonuses]
    memories = (a for found in group for a in found.task.memories)
    bonuses = statistics.bonuses
    rows = [
        [word(a), *(_improvement(found, a, bonuses) for found in group)]
        for a in names.ordered(memories, names.ARCHITECTURES)
    ]
    return Grid(
        name="improvement",
        caption="Probability that a seed with the bonus beats one without "
        f"({' / '.join(map(bonus_label, bonuses))}); 0.5 is no effect",
        columns=("Architecture", *(found.task.label for found in group)),
        rows=rows,
    )


@TABLES.register("memoryless")
def memoryless_table(statistics: Statistics) -> Grid:
    """The control: a bonus should not help an agent that cannot remember."""
    bonuses = statistics.bonuses
    controls = {(c.task.label, c.bonus): c for c in statistics.controls}
    rows = []
    for task in dict.fromkeys(c.task for c in statistics.controls):
        row = [word(task.label), _mean_std(task.arms[task.lower, NONE])]
        for b in bonuses:
            c = controls.get((task.label, b))
            if c is None:
                row += [EMPTY, EMPTY]
                continue
            i = c.improvement
            row.append(_mean_std(task.arms[task.lower, b]))
            detail = f"{c.reading}; 95% {formatting.bounds(i, 2)} (Newcombe)"
            row.append(
                figure(formatting.number(i.estimate, 2), i.estimate, i.excludes(0.5), detail)
            )
        rows.append(row)
    return Grid(
        name="memoryless",
        caption="The memoryless control (mean ± std), and its probability of improvement",
        columns=("Task", "none", *(c for b in bonuses for c in (bonus_label(b), "PoI"))),
        rows=rows,
        note="Bold: the interval of the probability excludes one half.",
    )


def _gain(gain: Gain) -> list[Cell]:
    i, boot = gain.interval, gain.bootstrap
    return [
        word(gain.architecture),
        word(bonus_label(gain.bonus)),
        figure(formatting.signed(i.estimate), i.estimate, bold=gain.p_holm < 0.05),
        _bounds(i),
        _bounds(boot),
        figure(formatting.p_value(gain.p_holm), gain.p_holm),
        figure(formatting.number(gain.detectable, 2), gain.detectable),
    ]


def _bounds(interval: Interval) -> Cell:
    text = formatting.bounds(interval, plus=True)
    if not interval.known:
        return Cell(text, detail=interval.why_not)
    return Cell(text, interval.low, full=f"[{interval.low}, {interval.high}]")


def _improvement(found: TaskStatistics, architecture: str, bonuses: tuple[str, ...]) -> Cell:
    asked = [(architecture, b) for b in bonuses if (architecture, b) in found.improvements]
    if not asked:
        return EMPTY
    shares = [found.improvements[pair] for pair in asked]
    text = " / ".join(formatting.number(i.estimate, 2) for i in shares)
    detail = "95% " + " / ".join(formatting.bounds(i, 2) for i in shares) + " (Newcombe)"
    return figure(text, shares[0].estimate, detail=detail)


def _mean_std(values: Values) -> Cell:
    std = values.std(ddof=1) if len(values) > 1 else math.nan
    return plus_minus(float(values.mean()), float(std))
