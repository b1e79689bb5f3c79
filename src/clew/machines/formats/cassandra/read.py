"""Cassandra's `.POMDP` text into a `Pomdp`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.formats.cassandra.parser import SETS, Start, Tree, parse
from clew.machines.formats.cassandra.tables import (
    Exact,
    Filling,
    Names,
    Rewards,
    exactly,
    sums_to_one,
)
from clew.machines.formats.numbers import Snap, Written, single
from clew.machines.formats.text import LIMITS, Limits, ParseError
from clew.machines.model.pomdp import Begin, Branch, Pomdp

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


def _branches(found: PomdpTables, s: int, a: int) -> Iterable[Branch]:
    for s2, p in sorted(found.transition[a][s].items()):
        for o, q in sorted(found.observation[a][s2].items()):
            yield Branch(s2, o, p * q, found.reward((a, s, s2, o)))


def _refuse_too_many(found: PomdpTables, tree: Tree, limits: Limits) -> None:
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


@dataclass(frozen=True)
class PomdpTables:
    """What a file says, exactly. Rows are sparse: what is absent has probability zero."""

    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    discount: Fraction
    start: Exact
    transition: list[list[Exact]]
    """By action and state."""
    observation: list[list[Exact]]
    """By action and next state."""
    reward: Rewards
    snaps: tuple[Snap, ...]
    """Decimals that were taken for fractions."""


def tables(tree: Tree, limits: Limits) -> PomdpTables:
    """Fill in the tables that `tree` describes; every row adds up to exactly one."""
    discount, values = tree.discount, tree.values
    if discount is None or values is None or len(tree.sets) < len(SETS):
        missing = [name for name in ("discount", "values") if getattr(tree, name) is None]
        missing += [name for name in SETS if name not in tree.sets]
        wanted = " and ".join(f"'{name}:'" for name in missing)
        raise ParseError(f"the file does not say {' and '.join(missing)}", tree.end, "", wanted)
    names, snaps = Names(tree, limits), list[Snap]()
    gamma, start = _discount(discount, snaps), _start(tree.start, names, snaps)
    filling = Filling(names, limits)
    for entry in tree.entries:
        if entry.table == "R":
            filling.pay(entry, -1 if values.text == "cost" else 1, snaps)
        else:
            filling.fill(entry, start)
    return PomdpTables(
        *(names.of[kind] for kind in SETS),
        discount=gamma,
        start=start,
        transition=filling.exact("T", tree.end, snaps),
        observation=filling.exact("O", tree.end, snaps),
        reward=filling.rewards,
        snaps=tuple(dict.fromkeys(snaps)),
    )


def _discount(number: Written, snaps: list[Snap]) -> Fraction:
    value = single(number, snaps)
    if not 0 < value < 1:
        wanted = "a number above 0 and below 1"
        raise ParseError("this is no discount", number.place, number.text, wanted)
    return value


def _start(start: Start | None, names: Names, snaps: list[Snap]) -> Exact:
    """The first belief; uniform over all states where the file does not say."""
    n = len(names.of["states"])
    chosen = set(range(n))
    if start is not None and start.how == "vector":
        first = start.vector[0]
        # of one state only, "1" is its probability
        if len(start.vector) == 1 and first.text.isdigit() and (n > 1 or not first.value):
            return {_state(first, n): Fraction(1)}
        exactly(n, start.vector, start.place)
        row = dict(enumerate(start.vector))
        return sums_to_one(row, "the start probabilities", start.place, snaps)
    if start is not None and start.how != "uniform":
        listed = {i for token in start.states for i in names.find(token, "states")}
        chosen = listed if start.how == "include" else chosen - listed
        if not chosen:
            raise ParseError("this excludes every state", start.place, "start", "a state left")
    return {state: Fraction(1, len(chosen)) for state in sorted(chosen)}


def _state(number: Written, n: int) -> int:
    if number.value >= n:
        wanted = f"one state from 0 to {n - 1}, or {n} probabilities"
        raise ParseError(f"there are {n} states", number.place, number.text, wanted)
    return int(number.value)
