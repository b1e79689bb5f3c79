"""Success of every arm: the study's main tables, seeds that learnt it, and every seed."""

from __future__ import annotations

import numpy as np

from clew.analysis import formatting, names
from clew.analysis.names import LEARNT, NONE, bonus_label
from clew.analysis.statistics import Statistics
from clew.analysis.stats.intervals import mean_interval
from clew.analysis.stats.success import learnt
from clew.analysis.stats.task import Task, Values
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word
from clew.envs import display


@TABLES.register("success")
def success_tables(statistics: Statistics) -> list[Grid]:
    """Architectures × (reward × bonus), a table for each world."""
    worlds: dict[str, list[Task]] = {}
    for found in statistics.tasks:
        world = found.task.environment.partition("[")[0]
        worlds.setdefault(world, []).append(found.task)
    single = statistics.results.single_scores
    what = "one score a run" if single else "tail mean over the final 20% of evaluations"
    return [_success(world, group, what) for world, group in worlds.items()]


@TABLES.register("learnt")
def learnt_table(statistics: Statistics) -> Grid:
    """How many seeds of every arm exceed the threshold."""
    bonuses = (NONE, *statistics.bonuses)
    sections = [
        (
            task.label,
            [
                [word(a), *(_learnt(task.arms.get((a, b))) for b in bonuses)]
                for a in task.architectures
            ],
        )
        for task in (found.task for found in statistics.tasks)
    ]
    return Grid(
        name="learnt",
        caption=f"Seeds whose {_measure(statistics)} exceeds {LEARNT}",
        columns=("Architecture", *map(bonus_label, bonuses)),
        sections=sections,
        note="Immune to any rescaling of success; intervals of the shares are Wilson's.",
    )


@TABLES.register("iqm")
def iqm_table(statistics: Statistics) -> Grid:
    """Interquartile mean over the memory architectures."""
    bonuses = (NONE, *statistics.bonuses)
    rows = []
    for found in statistics.tasks:
        iqm = [found.iqm.get(b) for b in bonuses]
        cells = [
            figure(formatting.estimate(i), i.estimate, detail=i.why_not) if i else EMPTY
            for i in iqm
        ]
        rows.append([word(found.task.label), *cells])
    return Grid(
        name="iqm",
        caption="Interquartile mean over all memory architectures [95% stratified bootstrap]",
        columns=("Task", *map(bonus_label, bonuses)),
        rows=rows,
    )


@TABLES.register("seed-vectors")
def seed_vectors(statistics: Statistics) -> Grid:
    """Every seed of every arm, sorted."""
    measure = _measure(statistics, "tail-mean success")
    sections = [
        (
            found.task.label,
            [
                [word(a), word(bonus_label(b)), word(_rates(found.task.arms[a, b]))]
                for a in found.task.architectures
                for b in (NONE, *found.task.bonuses)
                if (a, b) in found.task.arms
            ],
        )
        for found in statistics.tasks
    ]
    return Grid(
        name="seed-vectors",
        caption=f"Sorted {measure} of every seed",
        columns=("Architecture", "Bonus", f"{measure[0].upper()}{measure[1:]} (sorted)"),
        sections=sections,
        left=3,
    )


def _success(world: str, group: list[Task], what: str) -> Grid:
    architectures = names.ordered((a for t in group for a in t.architectures), names.ARCHITECTURES)
    bonuses = [(NONE, *t.bonuses) for t in group]
    several = len({t.environment for t in group}) > 1
    heads = [(_title(t, several), len(b)) for t, b in zip(group, bonuses, strict=True)]
    rows = [
        [word(a), *(_cell(t, a, b) for t, bs in zip(group, bonuses, strict=True) for b in bs)]
        for a in architectures
    ]
    counts = tuple(int(n) for n in np.unique([len(v) for t in group for v in t.arms.values()]))
    return Grid(
        name=f"success-{world}",
        caption=f"{world if several else group[0].environment}: success rate, {what} "
        f"(mean ± std over {formatting.seeds(counts)})",
        columns=("Architecture", *(bonus_label(b) for bs in bonuses for b in bs)),
        groups=[("", 1), *heads],
        rows=rows,
    )


def _measure(statistics: Statistics, usual: str = "tail mean") -> str:
    return "score" if statistics.results.single_scores else usual


def _cell(task: Task, architecture: str, bonus: str) -> Cell:
    values = task.arms.get((architecture, bonus))
    if values is None:
        return EMPTY
    mean = float(values.mean())
    frozen = task.reward == "penalty" and formatting.rate(mean) == ".00"
    spread = f"±{formatting.rate(float(values.std(ddof=1)))}" if len(values) > 1 else ""
    interval = formatting.bounds(mean_interval(values), 2)
    detail = f"95% {interval} (t), n = {len(values)}; seeds {_rates(values)}"
    return figure(formatting.rate(mean) + spread, mean, bold=frozen, detail=detail)


def _rates(values: Values) -> str:
    return ", ".join(formatting.rate(v) for v in values)


def _learnt(values: Values | None) -> Cell:
    if values is None:
        return EMPTY
    share = learnt(values)
    text = f"{share.estimate * len(values):.0f}/{len(values)}"
    return figure(text, share.estimate, detail=f"{formatting.bounds(share, 2)} (Wilson)")


def _title(task: Task, several: bool) -> str:
    if not several:
        return task.reward.capitalize()
    return f"{display(task.environment).variant or task.environment} {task.reward}"
