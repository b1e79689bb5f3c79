"""What the runs cannot answer: tasks without an answer, without any success, runs that lack."""

from __future__ import annotations

from collections.abc import Sequence

from clew.analysis.formatting import listed, rate
from clew.analysis.names import NONE, bonus_label, task_label
from clew.analysis.results import ARM, TASK, records
from clew.analysis.statistics import Statistics

FEW = 4
"""Tasks or arms that are named; more are counted."""
Task = tuple[str, str]


def all_tasks(statistics: Statistics) -> list[Task]:
    """By environment and reward; also those without a finished run."""
    runs = statistics.usual.runs[list(TASK)].drop_duplicates()
    return [(row["environment"], row["reward"]) for row in records(runs)]


def no_success(statistics: Statistics) -> list[str]:
    """That hardly a run of a task succeeded, where that is so."""
    runs = statistics.usual.finished
    means = runs.groupby(list(ARM), sort=False)["tail_mean"].mean().reset_index()
    best = means.groupby(list(TASK), sort=False)["tail_mean"].max().reset_index()
    best["size"] = runs.groupby(list(TASK), sort=False).size().to_numpy()
    never = [row for row in records(best) if row["tail_mean"] <= statistics.margin]
    if not never:
        return []
    where, highest = "", max(row["tail_mean"] for row in never)
    if len(never) < len(all_tasks(statistics)):
        where = " on " + _few([task_label(*(row[c] for c in TASK)) for row in never], "tasks")
    said = f"Hardly any run succeeds{where}: no agent's mean success is above {rate(highest)}"
    if highest <= 0:
        total = sum(row["size"] for row in never)
        who = "the only finished run has" if total == 1 else f"all {total:,} finished runs have"
        said = f"No run succeeds{where}: {who} success 0"
    return [
        f"{said}, so that nothing can be compared. Make the task "
        "easier or train longer first, and check what counts as a success: success_return of an "
        "environment, or the score column and --score-range of a table."
    ]


def unanswered(statistics: Statistics, answered: Sequence[Task]) -> list[str]:
    """'No answer on B / native: GRU has no finished run with a bonus.'"""
    found: dict[str, list[str]] = {}
    for task in all_tasks(statistics):
        if task not in answered:
            found.setdefault(_reason(statistics, task), []).append(task_label(*task))
    return [f"No answer on {_few(tasks, 'tasks')}: {why}." for why, tasks in found.items()]


def left_out(statistics: Statistics) -> list[str]:
    """How many runs lack, and of which arms; nothing if all are there."""
    gaps = statistics.gaps
    if gaps.complete:
        return []
    counted = gaps.runs.groupby(list(ARM), sort=True).size().reset_index(name="n")
    arms = [
        f"{task_label(row[ARM[0]], row[ARM[1]])} / {row[ARM[2]]} / {bonus_label(row[ARM[3]])} "
        f"({row['n']})"
        for row in records(counted)
    ]
    return [f"{gaps.sentence()} Left out: {_few(arms, 'arms')}."]


def _reason(statistics: Statistics, task: Task) -> str:
    results = statistics.usual
    runs = results.finished
    runs = runs[(runs["environment"] == task[0]) & (runs["reward"] == task[1])]
    if runs.empty:
        return "no run is finished"
    own = runs[~runs["architecture"].isin([results.lower, results.upper])]
    if own.empty:
        return "the only agents with finished runs are controls"
    plain = own["bonus"] == NONE
    who = listed(sorted(own["architecture"].unique()))
    has = "has" if own["architecture"].nunique() == 1 else "have"
    if plain.all():
        return f"{who} {has} no finished run with a bonus"
    if not plain.any():
        return f"{who} {has} no finished run without a bonus"
    return "no agent has finished runs both with a bonus and without"


def _few(names: Sequence[str], what: str) -> str:
    """'A and B', or 'A, B, C, D and 7 more tasks'."""
    more = len(names) - FEW
    return listed(names if more <= 1 else [*names[:FEW], f"{more} more {what}"])
