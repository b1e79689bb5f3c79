"""`clew list`: what can be named on the command line and in a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json import dumps
from typing import TYPE_CHECKING

from clew.cli.listing import (
    HYPERPARAMETERS,
    NAMED,
    Listed,
    hyperparameters,
    listed,
    listed_as,
    plain_options,
)
from clew.cli.listing_text import Heading, overview, page_of_kind, page_of_name, page_of_reward
from clew.cli.output import console_for, json_alone, say
from clew.cli.registry import register
from clew.store.canonical import JsonObject
from clew.validate import BadInput, hint

if TYPE_CHECKING:
    from clew.cli.parsing import Listable  # slow to import, and not needed for an overview

EVERYTHING = "all"
ALSO = {
    "world": "environments", "worlds": "environments", "envs": "environments",
    "memory": "architectures", "memories": "architectures", "agents": "architectures",
}  # fmt: skip
"""What a kind is called elsewhere."""


@register("list")
def list_(what: Listable = EVERYTHING, /, json: bool = False) -> None:
    """List what can be named: environments, rewards, architectures, bonuses, suites; with options.

    Args:
        what: A name, for all about it, gymnasium:ID too; or environments, rewards, architectures,
            bonuses, suites, latents, knobs or settings. If not given, an overview.
        json: Print one JSON object.
    """
    with json_alone(json):  # an environment may print
        entries = [*listed_as(what), *listed()]
    kinds = (*NAMED, *HYPERPARAMETERS, "rewards")
    rewards = dict.fromkeys(variant for it in entries for variant in it.rewards)
    names = [it.name for it in entries]
    if what not in (EVERYTHING, *kinds, *names, *rewards):
        near = hint(ALSO.get(what.lower(), what), (*names, *rewards, *kinds))
        raise BadInput(f"there is no {what!r} to list{near}; `clew list` shows all names")
    if json:
        print(dumps(as_plain(entries, what), indent=1, default=str))
        return
    console = console_for(json)
    for line in _text(entries, what, kinds, console.width):
        say(console, line, style="bold" if isinstance(line, Heading) else None)


def as_plain(entries: Sequence[Listed], what: str = EVERYTHING) -> JsonObject:
    """By kind and name: everything, or what has the name or is of the kind that is asked for."""
    found: JsonObject = {kind: {} for kind in NAMED if what in (EVERYTHING, kind)}
    for it in entries:
        if what in (EVERYTHING, it.kind, it.name, *it.rewards) or (
            what == "rewards" and it.rewards
        ):
            found.setdefault(it.kind, {})[it.name] = it.plain()
    for kind in HYPERPARAMETERS:
        if what in (EVERYTHING, kind):
            found[kind] = plain_options(hyperparameters(kind))
    return found


def _text(entries: Sequence[Listed], what: str, kinds: Sequence[str], width: int) -> Iterable[str]:
    if what == EVERYTHING:
        return overview(entries, width)
    if what in kinds:
        return page_of_kind(what, entries, width)
    for it in entries:
        if it.name == what:
            return page_of_name(it, width)
    return page_of_reward(what, entries, width)
