"""Success of every arm: the study's main tables, and every seed behind them."""

from __future__ import annotations

import numpy as np

from clew.analysis import names, words
from clew.analysis.stats.intervals import mean_interval
from clew.analysis.stats.task import Task, Values, tasks
from clew.analysis.table import Results
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word
from clew.envs import display


@TABLES.register("success")
def success(results: Results) -> list[Grid]:
    """Architectures × (reward × bonus), a table for each world."""
    worlds: dict[str, list[Task]] = {}
    for task in tasks(results):
        worlds.setdefault(_world(task.environment), []).append(task)
    return [_success(world, group) for world, group in worlds.items()]


@TABLES.register("seed-vectors")
def seed_vectors(results: Results) -> Grid:
    """Every seed of every arm, sorted."""
    rows, sections = [], []
    for task in tasks(results):
        sections.append((len(rows), task.label))
        for a in task.architectures:
            for b in (names.NONE, *task.bonuses):
                if (a, b) in task.arms:
                    vector = ", ".join(words.rate(v) for v in task.arms[a, b])
                    rows.append([word(a), word(names.bonus_label(b)), word(vector)])
    return Grid(
        name="seed-vectors",
        caption="Sorted tail-mean success of every seed",
        columns=("Architecture", "Bonus", "Tail-mean success (sorted)"),
        rows=rows,
        sections=sections,
        left=3,
    )


def _success(world: str, group: list[Task]) -> Grid:
    architectures = names.ordered((a for t in group for a in t.architectures), names.ARCHITECTURES)
    bonuses = [(names.NONE, *t.bonuses) for t in group]
    several = len({t.environment for t in group}) > 1
    heads = [(_title(t, several), len(b)) for t, b in zip(group, bonuses, strict=True)]
    rows = [
        [word(a), *(_cell(t, a, b) for t, bs in zip(group, bonuses, strict=True) for b in bs)]
        for a in architectures
    ]
    return Grid(
        name=f"success-{world}",
        caption=f"{world if several else group[0].environment}: success rate, tail mean over the "
        f"final 20% of evaluations (mean ± std over {words.seeds(_counts(group))})",
        columns=("Architecture", *(names.bonus_label(b) for bs in bonuses for b in bs)),
        groups=[("", 1), *heads],
        rows=rows,
    )


def _cell(task: Task, architecture: str, bonus: str) -> Cell:
    values = task.arms.get((architecture, bonus))
    if values is None:
        return EMPTY
    mean = float(values.mean())
    frozen = task.reward == "penalty" and words.rate(mean) == ".00"
    spread = f"±{words.rate(float(values.std(ddof=1)))}" if len(values) > 1 else ""
    return figure(words.rate(mean) + spread, mean, bold=frozen, detail=_detail(values))


def _detail(values: Values) -> str:
    interval = mean_interval(values)
    seeds = ", ".join(words.rate(v) for v in values)
    return f"95% {words.bounds(interval, 2)} (t), n = {len(values)}; seeds {seeds}"


def _counts(group: list[Task]) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unique([len(v) for t in group for v in t.arms.values()]))


def _world(environment: str) -> str:
    return environment.partition("[")[0]


def _title(task: Task, several: bool) -> str:
    if not several:
        return task.reward.capitalize()
    return f"{display(task.environment).variant or task.environment} {task.reward}"
