"""Put the page together."""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import TypedDict, Unpack

from jinja2 import Environment, PackageLoader, StrictUndefined

import clew
from clew.analysis import formatting, summary
from clew.analysis.advice import advice, finding, hints
from clew.analysis.answer import Answer, answers
from clew.analysis.names import bonus_label
from clew.analysis.report import glossary
from clew.analysis.report.answer_grid import (
    EFFECTS,
    HELD,
    chip,
    compact_grid,
    effect_chip,
    grid,
)
from clew.analysis.report.comparison import Comparison, comparison_table
from clew.analysis.report.curves_json import curves_payload
from clew.analysis.report.four_arms_svg import four_arms
from clew.analysis.report.interaction_svg import panel
from clew.analysis.report.proofs import NOTE, Proofs, limits, task_proof
from clew.analysis.report.task_names import TaskNames
from clew.analysis.results import Results
from clew.analysis.statistics import Statistics
from clew.analysis.tables import every
from clew.analysis.tables.grid import html
from clew.analysis.verdict import RULES, Verdict, verdicts
from clew.store.atomic import write

TITLE = "Does the bonus help, or is memory the bottleneck?"
LISTED = 40
"""Unfinished runs that are named one by one before the rest is counted."""
FEW_NOTES = 3
"""Notes that are shown at once; more are folded."""


class Extras(TypedDict, total=False):
    """What a page may show besides the results."""

    title: str
    compared: list[Comparison]
    """From `compare_with_published` or `compare`."""
    compared_with: str
    proofs: Proofs
    """What was proved of (environment, reward): `clew.machines.tasks`."""
    configuration: Mapping[str, object]
    """Shown as it is; `store` is the folder that the commands for single runs name."""
    notes: Sequence[str]
    """Shown after the answer."""
    probes: object
    """A `clew.probes.report.ProbeSection`."""


def write_report(statistics: Statistics, path: Path, **extras: Unpack[Extras]) -> Path:
    """Write the page to `path`."""
    text = page(statistics, **extras).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, lambda file: file.write(text))
    return path


def page(statistics: Statistics, **extras: Unpack[Extras]) -> str:
    """The report as HTML."""
    tasks = [(t.task.environment, t.task.reward) for t in statistics.tasks]
    names, found = TaskNames(tasks), answers(statistics)
    lower = statistics.results.lower
    agents = summary.agents_of(found, lower)
    configuration, missing = extras.get("configuration", {}), statistics.gaps
    store = str(configuration.get("store", ""))
    return _template().render(
        title=extras.get("title") or title(agents, names),
        answered=_answered(statistics, found),
        overall=summary.headline(statistics, found),
        compact=grid(found, lower) if len(tasks) == 1 else compact_grid(found, names, lower),
        untested=summary.untested(found, lower),
        alone=agents[0] if len(agents) == 1 else None,
        few=len(found) <= summary.FEW,
        margin=formatting.rate(statistics.margin),
        lower=lower,
        upper=statistics.results.upper,
        controls=_controls(statistics.results),
        names=names,
        store=shlex.quote(store) if store else "",
        gaps=missing,
        notes=extras.get("notes", ()),
        lines=missing.lines()[:LISTED],
        more=max(0, len(missing.runs) - LISTED),
        tables={name: (table.caption, html(table)) for name, table in every(statistics).items()},
        curves=curves_payload(statistics, names.short),
        probes=extras.get("probes"),
        configuration={**configuration, **versions()},
        **_judged(statistics, found, extras.get("proofs", {}), names),
        **_compared(extras),
    )


def _controls(results: Results) -> list[tuple[str, str, str]]:
    """Name, entry in the glossary and what it is, of the controls that there are."""
    known = (results.lower, "memoryless", "no memory"), (results.upper, "given", "given memory")
    trained = set(results.runs["architecture"])
    return [control for control in known if control[0] in trained]


def title(found: Sequence[Answer], names: TaskNames) -> str:
    """The question, about one agent and one bonus if there is one."""
    if len(found) != 1:
        return TITLE
    (only,) = found
    task = names[only.environment, only.reward]
    who = f"{bonus_label(only.bonus)} help {only.agent} on {task}"
    return f"Does {who}, or is memory the bottleneck?"


def versions() -> dict[str, str]:
    """Of everything that the numbers passed through."""
    packages = ("numpy", "scipy", "pandas")
    found = {name: metadata.version(name) for name in packages}
    return {"clew": clew.__version__, "python": platform.python_version(), **found}


def _answered(statistics: Statistics, found: Sequence[Answer]) -> list[dict[str, object]]:
    """Every task with its answers, its grid and its picture."""
    by_task, runs = summary.by_task(found), statistics.usual.finished
    told, lower = [], statistics.results.lower
    for task in (t.task for t in statistics.tasks):
        mine = by_task.get((task.environment, task.reward), [])
        here = (runs["environment"] == task.environment) & (runs["reward"] == task.reward)
        told.append(
            {
                "key": (task.environment, task.reward),
                "answers": summary.agents_first(mine, lower),
                "grid": grid(mine, lower) if mine else "",
                "arms": four_arms(task, runs[here], statistics.bonuses),
            }
        )
    return told


def _judged(
    statistics: Statistics, found: Sequence[Answer], proofs: Proofs, names: TaskNames
) -> dict[str, object]:
    """The differences between memories, where there are two to compare, and what was proved."""
    given = [v for v in verdicts(statistics) if len(v.gains) > 1]
    answered = summary.by_task(found)

    def of(task: tuple[str, str]) -> list[Verdict]:
        return [v for v in given if (v.task.environment, v.task.reward) == task]

    known = [task for task in names.short if task in proofs]
    return {
        "verdicts": given,
        "proved": {
            names[task]: task_proof(proofs[task], of(task), answered.get(task, []))
            for task in known
        },
        "limits": [NOTE, *limits(proofs)] if known else [],
    }


def _compared(extras: Extras) -> dict[str, object]:
    compared = extras.get("compared", [])
    return {
        "compared": html(comparison_table(compared)) if compared else "",
        "differing": [c for c in compared if c.agreement == "differs"],
        "compared_counts": Counter(c.agreement for c in compared),
        "compared_with": extras.get("compared_with", "the published study"),
    }


def _template():
    made = Environment(
        loader=PackageLoader("clew.analysis.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["terms"] = glossary.with_terms
    made.globals |= {
        "term": glossary.term,
        "exploratory": glossary.EXPLORATORY,
        "glossary": glossary.TERMS,
        "brief": summary.brief,
        "advice": advice,
        "finding": finding,
        "hints": hints,
        "effect_chip": effect_chip,
        "chip": chip,
        "shapes": {**EFFECTS, **HELD},
        "panel": panel,
        "rules": RULES,
        "rate": formatting.rate,
        "estimate": formatting.estimate,
        "bonus_label": bonus_label,
        "few_notes": FEW_NOTES,
        "style": _asset("report.css"),
        "script": _asset("report.js"),
    }
    return made.get_template("page.html")


def _asset(name: str) -> str:
    return resources.files("clew.analysis.report").joinpath(name).read_text(encoding="utf-8")
