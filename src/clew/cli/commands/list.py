"""`clew list`: what can be named on the command line and in a suite."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from json import dumps
from typing import TypedDict

from clew.bonuses.registry import bonuses
from clew.cli.output import console_for
from clew.cli.registry import register
from clew.envs.registry import environments, reward_names
from clew.memory.registry import architectures
from clew.registry import Registry
from clew.suite.registry import suites
from clew.suite.schema import GIVEN


class Listed(TypedDict, total=False):
    """One name."""

    about: str
    rewards: list[str]
    options: list[str]


@register("list")
def list_(json: bool = False) -> None:
    """List environments with their rewards, architectures, bonuses and suites.

    Args:
        json: Print one JSON object.
    """
    found = listed()
    if json:
        print(dumps(found, indent=1))
        return
    console = console_for(json)
    for kind, entries in found.items():
        console.print(f"[bold]{kind}[/bold]")
        for line in _lines(entries, console.width):
            console.print(line, highlight=False, markup=False)


def listed() -> dict[str, dict[str, Listed]]:
    """By kind and name. What lies in this package is read off its source, and not imported."""
    kinds: dict[str, Registry] = {
        "environments": environments,
        "architectures": architectures,
        "bonuses": bonuses,
        "suites": suites,
    }
    found: dict[str, dict[str, Listed]] = {kind: {} for kind in kinds}
    for kind, registry in kinds.items():
        for name in registry.names():
            about, options = registry[name].outline()
            found[kind][name] = {"about": about}
            if kind == "environments":
                found[kind][name]["rewards"] = list(reward_names(name))
            if kind != "suites":
                found[kind][name]["options"] = [each for each in options if each not in GIVEN]
    return found


def _lines(entries: dict[str, Listed], width: int) -> Iterator[str]:
    """Names of which the same can be said stand together."""
    groups: dict[str, list[str]] = {}
    for name, entry in entries.items():
        facts = [entry.get("about", "")]
        facts += [f"rewards: {', '.join(entry['rewards'])}"] if "rewards" in entry else []
        facts += [f"options: {', '.join(entry['options'])}"] if entry.get("options") else []
        groups.setdefault("\n".join(facts), []).append(name)
    for facts, names in groups.items():
        yield textwrap.indent(textwrap.fill(", ".join(names), width - 2), "  ")
        for fact in facts.splitlines():
            yield textwrap.indent(textwrap.fill(fact, width - 6, subsequent_indent="  "), " " * 6)
