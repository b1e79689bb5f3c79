"""Cassandra's `.POMDP` text into a `Pomdp`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from clew.machines.formats.cassandra.tables import Tables, tables
from clew.machines.formats.cassandra.tree import Tree, parse
from clew.machines.formats.limits import LIMITS, Limits
from clew.machines.formats.numbers import Snap
from clew.machines.pomdp import Begin, Branch, Pomdp

FIRST = "(start)"
"""What is observed before the first action, of which the format knows nothing. No name of the
format can have parentheses."""


def parse_pomdp(text: str, name: str = "POMDP", limits: Limits = LIMITS) -> Pomdp:
    """Read a POMDP; its `notes` list every decimal that was taken for a fraction."""
    tree = parse(text)
    found = tables(tree, limits)
    _refuse_too_many(found, tree, limits)
    first = len(found.observations)
    return Pomdp(
        states=found.states,
        actions=found.actions,
        observations=(*found.observations, FIRST),
        start=tuple(Begin(s, first, p) for s, p in sorted(found.start.items())),
        steps=tuple(
            tuple(tuple(_branches(found, s, a)) for a in range(len(found.actions)))
            for s in range(len(found.states))
        ),
        discount=found.discount,
        name=name,
        notes=tuple(_notes(found.snaps)),
    )


def _branches(found: Tables, s: int, a: int) -> Iterable[Branch]:
    for s2, p in sorted(found.transition[a][s].items()):
        for o, q in sorted(found.observation[a][s2].items()):
            yield Branch(s2, o, p * q, found.reward((a, s, s2, o)))


def _refuse_too_many(found: Tables, tree: Tree, limits: Limits) -> None:
    ways = sum(
        len(found.observation[a][s2])
        for a, rows in enumerate(found.transition)
        for row in rows
        for s2 in row
    )
    limits.check("branches", ways, tree.sets["states"].place, "steps can go too many ways")


def _notes(snaps: Iterable[Snap]) -> Iterable[str]:
    """One line for each decimal and what it was taken for, with how often and where first."""
    first: dict[tuple[str, Fraction], Snap] = {}
    count: Counter[tuple[str, Fraction]] = Counter()
    for snap in sorted(snaps, key=lambda snap: snap.place):
        first.setdefault((snap.text, snap.value), snap)
        count[snap.text, snap.value] += 1
    for key, snap in first.items():
        often = "once" if count[key] == 1 else f"{count[key]} times"
        yield f"{snap.text} was read as {snap.value} ({often}, first at {snap.place})"
