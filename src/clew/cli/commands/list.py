"""`clew list`: what can be named on the command line and in a suite."""

from __future__ import annotations

from json import dumps

from rich.console import Console
from rich.table import Table

from clew import bonuses, envs, memory
from clew.cli.registry import register
from clew.suite import find_suite, names


@register("list")
def list_(json: bool = False) -> None:
    """List environments with their rewards, architectures, bonuses and suites.

    Args:
        json: Print one JSON object.
    """
    worlds = {name: tuple(envs.make(name).reward_variants()) for name in envs.names()}
    suites = {name: find_suite(name) for name in names()}
    if json:
        told = {name: {"about": s.about, "runs": len(s.runs())} for name, s in suites.items()}
        whole = {
            "environments": worlds,
            "architectures": memory.names(),
            "bonuses": bonuses.names(),
            "suites": told,
        }
        print(dumps(whole, indent=1))
        return
    console = Console()
    _print(console, ("environment", "rewards"), [(n, ", ".join(r)) for n, r in worlds.items()])
    _print(console, ("architecture",), [(name,) for name in memory.names()])
    _print(console, ("bonus",), [(name,) for name in bonuses.names()])
    rows = [(name, str(len(s.runs())), s.about) for name, s in suites.items()]
    _print(console, ("suite", "runs", "about"), rows)


def _print(console: Console, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    console.print(table)
