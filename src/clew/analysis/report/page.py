"""Put the page together."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import TypedDict, Unpack

from jinja2 import Environment, PackageLoader, StrictUndefined

import clew
from clew.analysis import formatting
from clew.analysis.names import task_label
from clew.analysis.report.comparison import Comparison, comparison_table
from clew.analysis.report.curves_json import curves_payload
from clew.analysis.report.interaction_svg import panel
from clew.analysis.report.proofs import Proofs, in_brief, in_words, limits, proof_table
from clew.analysis.statistics import Statistics
from clew.analysis.tables import every
from clew.analysis.tables.grid import html
from clew.analysis.verdict import RULES, Verdict, verdicts

DOES = {
    "amplify": "amplifies the differences between memories",
    "equalise": "equalises the memories",
    "shift": "moves the memories together",
    "reorder": "helps some memories and hurts others",
    "null": "does nothing that matters",
    "inconclusive": "is not settled",
}
TITLE = "Does the bonus help, or is memory the bottleneck?"
LISTED = 40
"""Unfinished runs that are named one by one before the rest is counted."""


class Extras(TypedDict, total=False):
    """What a page may show besides the results."""

    title: str
    compared: list[Comparison]
    """From `compare_with_published` or `compare`."""
    compared_with: str
    proofs: Proofs
    """What was proved of (environment, reward): `clew.machines.tasks`."""
    configuration: Mapping[str, object]
    """Shown as it is."""
    notes: Sequence[str]
    """Shown before the answer."""
    probes: object
    """A `clew.probes.report.ProbeSection`."""


def write_report(statistics: Statistics, path: Path, **extras: Unpack[Extras]) -> Path:
    """Write the page to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(statistics, **extras), encoding="utf-8")
    return path


def page(statistics: Statistics, **extras: Unpack[Extras]) -> str:
    """The report as HTML."""
    compared, proofs = extras.get("compared", []), extras.get("proofs", {})
    given = verdicts(statistics)
    missing = statistics.gaps
    templates = Environment(
        loader=PackageLoader("clew.analysis.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("page.html").render(
        title=extras.get("title", TITLE),
        headline=headline(given),
        verdicts=given,
        proved={task_label(*task): in_words(found) for task, found in proofs.items()},
        brief={task_label(*task): in_brief(found) for task, found in proofs.items()},
        beside_proof=html(proof_table(given, proofs)) if proofs and given else "",
        limits=limits(proofs),
        does=DOES,
        rules=RULES,
        panel=panel,
        gaps=missing,
        notes=extras.get("notes", ()),
        lines=missing.lines()[:LISTED],
        more=max(0, len(missing.runs) - LISTED),
        tables={name: (grid.caption, html(grid)) for name, grid in every(statistics).items()},
        compared=html(comparison_table(compared)) if compared else "",
        differing=[c for c in compared if c.agreement == "differs"],
        rate=formatting.rate,
        estimate=formatting.estimate,
        compared_counts=Counter(c.agreement for c in compared),
        compared_with=extras.get("compared_with", "the published study"),
        curves=curves_payload(statistics),
        probes=extras.get("probes"),
        configuration={**extras.get("configuration", {}), **versions()},
        style=_asset("report.css"),
        script=_asset("report.js"),
    )  # fmt: skip


def headline(given: list[Verdict]) -> str:
    """The answer in one sentence or two."""
    if not given:
        return "No task has finished runs both with a bonus and without: there is no answer yet."
    if len({v.pattern for v in given}) == 1 and len({v.task.label for v in given}) == 1:
        return f"On {given[0].task.label}, the bonus {DOES[given[0].pattern]}."
    said = []
    for pattern in RULES:
        found = [v for v in given if v.pattern == pattern]
        if found:
            said.append(f"{DOES[pattern]} on {formatting.listed(v.task.label for v in found)}")
    return "The bonus " + "; it ".join(said) + "."


def versions() -> dict[str, str]:
    """Of everything that the numbers passed through."""
    packages = ("numpy", "scipy", "pandas")
    found = {name: metadata.version(name) for name in packages}
    return {"clew": clew.__version__, "python": platform.python_version(), **found}


def _asset(name: str) -> str:
    return resources.files("clew.analysis.report").joinpath(name).read_text(encoding="utf-8")
