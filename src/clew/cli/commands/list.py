"""`clew list`: what can be named on the command line and in a suite."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from json import dumps
from typing import NamedTuple

from clew.bonuses.registry import bonuses
from clew.cli.output import console_for
from clew.cli.registry import register
from clew.envs.registry import environments, reward_names
from clew.memory.registry import GIVEN, architectures
from clew.registry import Registry
from clew.suite.registry import suites


class Listed(NamedTuple):
    """What is said of a name."""

    about: str
    rewards: tuple[str, ...]
    """Of an environment; else empty."""
    options: tuple[str, ...]


@register("list")
def list_(json: bool = False) -> None:
    """List environments with their rewards, architectures, bonuses and suites.

    Args:
        json: Print one JSON object.
    """
    found = listed()
    if json:
        plain = {
            kind: {name: entry._asdict() for name, entry in entries.items()}
            for kind, entries in found.items()
        }
        print(dumps(plain, indent=1))
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
            rewards = reward_names(name) if kind == "environments" else ()
            options = tuple(option for option in options if option not in GIVEN)
            found[kind][name] = Listed(about, rewards, options)
    return found


def _lines(entries: dict[str, Listed], width: int) -> Iterator[str]:
    """Names with the same description are listed together."""
    groups: dict[Listed, list[str]] = {}
    for name, entry in entries.items():
        groups.setdefault(entry, []).append(name)
    for (about, rewards, options), names in groups.items():
        yield textwrap.indent(textwrap.fill(", ".join(names), width - 2), "  ")
        facts = [about]
        facts += [f"rewards: {', '.join(rewards)}"] if rewards else []
        facts += [f"options: {', '.join(options)}"] if options else []
        for fact in facts:
            yield textwrap.indent(textwrap.fill(fact, width - 6, subsequent_indent="  "), " " * 6)
