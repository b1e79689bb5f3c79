"""Tables with a line for each arm or comparison: gains, improvement, counts, the control, IQM."""

from __future__ import annotations

from clew.analysis import names, words
from clew.analysis.names import LEARNT, NONE, bonus_label
from clew.analysis.stats.counts import counts
from clew.analysis.stats.falsify import controls
from clew.analysis.stats.gains import gains
from clew.analysis.stats.improvement import improvement
from clew.analysis.stats.iqm import iqm
from clew.analysis.stats.task import Task, tasks
from clew.analysis.table import Results
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word
from clew.analysis.tables.spreads import all_bonuses


@TABLES.register("gains")
def gain_table(results: Results) -> Grid:
    """Every within-architecture gain, with what could have been seen."""
    rows: list[list[Cell]] = []
    sections = []
    for task in tasks(results):
        sections.append((len(rows), task.label))
        for gain in gains(task):
            i, boot = gain.interval, gain.bootstrap
            rows.append(
                [
                    word(gain.architecture),
                    word(bonus_label(gain.bonus)),
                    figure(words.signed(i.estimate), i.estimate, bold=gain.p_holm < 0.05),
                    figure(words.bounds(i, plus=True), i.low, detail=i.why_not),
                    figure(words.bounds(boot, plus=True), boot.low, detail=boot.why_not),
                    figure(words.p_value(gain.p_holm), gain.p_holm),
                    figure(words.number(gain.detectable, 2), gain.detectable),
                ]
            )
    return Grid(
        name="gains",
        caption="Gain in mean success over no bonus, within each architecture",
        columns=("Architecture", "Bonus", "Gain", "95% (Welch)", "95% (bootstrap)", "p (Holm)",
                 "detectable"),
        rows=rows,
        sections=sections,
        left=2,
        note="Bold: p < 0.05 after Holm's correction over the task. Detectable: the smallest true "
        "gain that seeds like these show with 80% probability.",
    )  # fmt: skip


@TABLES.register("improvement")
def improvements(results: Results) -> Grid:
    """Probability of improvement of every memory architecture, by task: E3B / NovelD."""
    group = [t for t in tasks(results) if t.bonuses]
    architectures = names.ordered((a for t in group for a in t.memories), names.ARCHITECTURES)
    bonuses = all_bonuses(group)
    rows = [[word(a), *(_improvement(t, a, bonuses) for t in group)] for a in architectures]
    return Grid(
        name="improvement",
        caption="Probability that a seed with the bonus beats one without "
        f"({' / '.join(map(bonus_label, bonuses))}); 0.5 is no effect",
        columns=("Architecture", *(t.label for t in group)),
        rows=rows,
    )


@TABLES.register("learnt")
def learnt(results: Results, threshold: float = LEARNT) -> Grid:
    """How many seeds of every arm exceed the threshold."""
    rows: list[list[Cell]] = []
    sections = []
    group = tasks(results)
    bonuses = (NONE, *all_bonuses(group))
    for task in group:
        sections.append((len(rows), task.label))
        found = {(c.architecture, c.bonus): c for c in counts(task, threshold)}
        for a in task.architectures:
            row = [word(a)]
            for b in bonuses:
                c = found.get((a, b))
                if c is None:
                    row.append(EMPTY)
                    continue
                detail = f"{words.bounds(c.share, 2)} (Wilson)"
                row.append(figure(f"{c.learnt}/{c.n}", c.share.estimate, detail=detail))
            rows.append(row)
    return Grid(
        name="learnt",
        caption=f"Seeds whose tail mean exceeds {threshold}",
        columns=("Architecture", *map(bonus_label, bonuses)),
        rows=rows,
        sections=sections,
        note="Immune to any rescaling of success; intervals of the shares are Wilson's.",
    )


@TABLES.register("memoryless")
def memoryless(results: Results) -> Grid:
    """The control: a bonus should not help an agent that cannot remember."""
    rows = []
    found = controls(tasks(results))
    group = tasks(results)
    bonuses = all_bonuses(group)
    for task in group:
        mine = {c.bonus: c for c in found if c.task == task.label}
        if not mine:
            continue
        none = next(iter(mine.values())).none
        row = [word(task.label), _mean_std(none)]
        for b in bonuses:
            c = mine.get(b)
            if c is None:
                row += [EMPTY, EMPTY]
                continue
            i = c.improvement
            row.append(_mean_std(c.values))
            detail = f"{c.reading}; 95% {words.bounds(i, 2)} (Newcombe)"
            row.append(figure(words.number(i.estimate, 2), i.estimate, i.excludes(0.5), detail))
        rows.append(row)
    return Grid(
        name="memoryless",
        caption="The memoryless control (mean ± std), and its probability of improvement",
        columns=("Task", "none", *(c for b in bonuses for c in (bonus_label(b), "PoI"))),
        rows=rows,
        note="Bold: the interval of the probability excludes one half.",
    )


@TABLES.register("iqm")
def aggregates(results: Results) -> Grid:
    """Interquartile mean over the memory architectures."""
    group = tasks(results)
    bonuses = (NONE, *all_bonuses(group))
    rows = []
    for task in group:
        found = [iqm(task, b) for b in bonuses]
        cells = [figure(words.estimate(i), i.estimate, detail=i.why_not) for i in found]
        rows.append([word(task.label), *cells])
    return Grid(
        name="iqm",
        caption="Interquartile mean over all memory architectures [95% stratified bootstrap]",
        columns=("Task", *map(bonus_label, bonuses)),
        rows=rows,
    )


def _improvement(task: Task, architecture: str, bonuses: tuple[str, ...]) -> Cell:
    found = [
        improvement(task.arms[architecture, b], task.arms[architecture, NONE])
        for b in bonuses
        if architecture in task.both(b)
    ]
    if not found:
        return EMPTY
    text = " / ".join(words.number(i.estimate, 2) for i in found)
    detail = "95% " + " / ".join(words.bounds(i, 2) for i in found) + " (Newcombe)"
    return figure(text, found[0].estimate, detail=detail)


def _mean_std(values) -> Cell:
    mean = float(values.mean())
    spread = f" ± {words.number(float(values.std(ddof=1)))}" if len(values) > 1 else ""
    return figure(words.number(mean) + spread, mean)
