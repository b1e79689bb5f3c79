"""What a world's reward variants pay and what its events are, with its default options.

Read off the source where the world is not imported: `clew list` must not import jax.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import NamedTuple

from clew.envs.hosted.host import listable
from clew.envs.registry import environments, hosted, make
from clew.outline import REQUIRED, described, field_meanings, read_outline
from clew.source import Assigned, StandIn, assigned, bases, definition, evaluate, value


class PriceList(NamedTuple):
    """Of one world."""

    rewards: dict[str, dict[str, float]]
    """By variant, the price of every event that has one; empty if it is not a plain expression."""
    events: dict[str, str]
    """What each event is, where the text below the world's `event_names` says so."""


def price_list(name: str) -> PriceList:
    """Of the environment called `name`. Imports nothing, unless it is a Gymnasium environment."""
    # from outside, it may be written in a way that cannot be read, or fail
    with suppress(Exception) if environments[name].origin else nullcontext():
        return _price_list(name)
    return PriceList({}, {})


def _price_list(name: str) -> PriceList:
    entry = environments[name]
    if entry.imported or hosted(name):
        world = listable(name) if hosted(name) else make(name)
        rewards = {variant: dict(paid) for variant, paid in world.reward_variants().items()}
        meanings = described(field_meanings(type(world)).get("event_names", ""))
        return PriceList(rewards, {event: meanings.get(event, "") for event in world.event_names})
    module, node = definition(entry.identity)
    assert isinstance(node, ast.ClassDef)
    written: dict[str, Assigned] = {}
    for _, each in bases(module, node):
        written |= assigned(each)
    options = {option.name: option.default for option in read_outline(entry.identity).options}
    known = {name: default for name, default in options.items() if default is not REQUIRED}
    world = StandIn(entry.identity, {**known, **entry.preset})
    names, meanings = written["event_names"].value, described(written["event_names"].about)
    events = value(module, names) if names else ()
    assert isinstance(events, tuple)
    return PriceList(
        _paid(written["rewards"].value, world),
        {str(event): meanings.get(str(event), "") for event in events},
    )


def _paid(rewards: ast.expr | None, world: StandIn) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    assert isinstance(rewards, ast.Dict)
    for variant, prices in zip(rewards.keys, rewards.values, strict=True):
        if isinstance(variant, ast.Constant):
            found[str(variant.value)] = dict(plain_prices(prices, world))
    return found


def plain_prices(function: ast.expr, world: StandIn) -> Mapping[str, float]:
    """Nothing if it needs more than the world's options: the names are still worth listing."""
    try:
        paid = evaluate(function)(world) if isinstance(function, ast.Lambda) else {}
    except Exception:
        return {}
    return paid if isinstance(paid, Mapping) else {}
