"""The whole answer for machines: one JSON document, described in docs/reference/results.md."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import clew
from clew.analysis.advice import advice, reason
from clew.analysis.answer import answers
from clew.analysis.names import NONE
from clew.analysis.results import ARM, records
from clew.analysis.statistics import Statistics, TaskStatistics
from clew.analysis.stats.intervals import Interval, mean_interval
from clew.analysis.stats.task import Task
from clew.analysis.verdict import verdicts
from clew.store.canonical import JsonObject

SCHEMA = 1
"""Raised when a key changes its meaning or goes away; new keys may come without."""


def as_json(statistics: Statistics, notes: Sequence[str] = ()) -> str:
    """The document as text; numbers that are not defined are null."""
    return json.dumps(document(statistics, notes), indent=1, ensure_ascii=False, allow_nan=False)


def document(statistics: Statistics, notes: Sequence[str] = ()) -> JsonObject:
    """The document, in types that JSON has."""
    gaps = statistics.gaps
    whole = {
        "schema": SCHEMA,
        "clew": clew.__version__,
        "answers": [
            {**plain(answer), "advice": advice(answer), "reason": reason(answer)}
            for answer in answers(statistics)
        ],
        "verdicts": verdicts(statistics),
        "tasks": [_task(statistics, found) for found in statistics.tasks],
        "notes": list(notes),
        "gaps": {"finished": gaps.finished, "expected": gaps.expected, "runs": gaps.runs},
    }
    return plain(whole)


def plain(value: object) -> Any:
    """A value in types that JSON has; NaN and infinity are None.

    A dataclass is an object of its fields and properties.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case np.generic() | np.ndarray():
            return plain(value.tolist())
        case Interval():
            found = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
            why_not = found.pop("why_not")
            return {**found, "why_not": why_not} if why_not else found
        case Task():
            return {"environment": value.environment, "reward": value.reward}
        case pd.DataFrame():
            return plain(records(value))
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            named = [f.name for f in dataclasses.fields(value)]
            found = vars(type(value)).items()
            named += [name for name, kind in found if isinstance(kind, property | cached_property)]
            return {name: plain(getattr(value, name)) for name in named if name[0] != "_"}
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON")


def _task(statistics: Statistics, found: TaskStatistics) -> dict[str, object]:
    task = found.task
    return {
        "environment": task.environment,
        "reward": task.reward,
        "label": task.label,
        "lower": task.lower if task.lower in task.architectures else None,
        "upper": task.upper if task.upper in task.architectures else None,
        "arms": [
            _arm(statistics, task, architecture, bonus)
            for architecture in task.architectures
            for bonus in (NONE, *task.bonuses)
            if (architecture, bonus) in task.arms
        ],
        "gains": found.gains,
        "average_gains": {b: test.interval for b, test in found.average_gains.items()},
    }


def _arm(statistics: Statistics, task: Task, architecture: str, bonus: str) -> dict[str, object]:
    names = {"architecture": architecture, "bonus": bonus}
    runs = statistics.usual.finished
    for column, name in zip(ARM, (task.environment, task.reward, architecture, bonus), strict=True):
        runs = runs[runs[column] == name]
    seeds = runs.sort_values("seed")[["seed", "tail_mean"]]
    return {
        **names,
        "seeds": seeds.rename(columns={"tail_mean": "score"}),
        "mean": mean_interval(task.arms[architecture, bonus]),
        "failed": task.failed.get((architecture, bonus), 0),
    }
