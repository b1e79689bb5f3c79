"""Cassandra's `.POMDP` text into a `Pomdp`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from clew.machines.formats.cassandra.parser import SETS, Start, parse
from clew.machines.formats.cassandra.tables import (
    Exact,
    Filling,
    Names,
    exactly,
    sums_to_one,
)
from clew.machines.formats.numbers import Snap, Written, single
from clew.machines.formats.text import LIMITS, Limits, ParseError
from clew.machines.model.pomdp import Begin, Branch, Pomdp
from clew.validate import BadInput

FIRST = "(start)"
"""What is observed before the first action, of which the format knows nothing. No name of the
format can have parentheses."""


def parse_pomdp(text: str, name: str = "POMDP", limits: Limits = LIMITS) -> Pomdp:
    """Read a POMDP; its `notes` list every decimal that was taken for a fraction."""
    tree = parse(text)
    discount, values = tree.discount, tree.values
    if discount is None or values is None or len(tree.sets) < len(SETS):
        missing = [name for name in ("discount", "values") if getattr(tree, name) is None]
        missing += [name for name in SETS if name not in tree.sets]
        wanted = " and ".join(f"'{name}:'" for name in missing)
        raise ParseError(f"the file does not say {' and '.join(missing)}", tree.end, "", wanted)
    names, snaps = Names(tree, limits), list[Snap]()
    gamma = _discount(discount, snaps)
    start = _start(tree.start, names, snaps, limits.renormalise)
    filling = Filling(names, limits)
    for entry in tree.entries:
        if entry.table == "R":
            filling.pay(entry, -1 if values.text == "cost" else 1, snaps)
        else:
            filling.fill(entry, start)
    moves, seen = (filling.exact(table, tree.end, snaps) for table in "TO")
    ways = sum(len(seen[a][s2]) for a, rows in enumerate(moves) for row in rows for s2 in row)
    limits.check("branches", ways, tree.sets["states"].place, "steps have too many branches")

    def branches(s: int, a: int) -> Iterable[Branch]:
        for s2, p in sorted(moves[a][s].items()):
            for o, q in sorted(seen[a][s2].items()):
                yield Branch(s2, o, p * q, filling.rewards((a, s, s2, o)))

    states, actions, observations = (names.of[kind] for kind in SETS)
    steps = tuple(
        tuple(tuple(branches(s, a)) for a in range(len(actions))) for s in range(len(states))
    )
    pomdp = Pomdp(
        states=states,
        actions=actions,
        observations=(*observations, FIRST),
        start=tuple(Begin(s, len(observations), p) for s, p in sorted(start.items())),
        steps=steps,
        discount=min(gamma, Fraction(1, 2)),
        name=name,
        notes=tuple(_notes(dict.fromkeys(snaps))),
    )
    if gamma < 1:
        return replace(pomdp, discount=gamma)
    said = "discount 1: states that are never left and pay nothing end the episode"
    try:
        notes = (*pomdp.notes, said)
        return replace(pomdp, discount=gamma, terminal=_absorbing(steps), notes=notes)
    except BadInput as error:
        discount.fail(str(error), "a number below 1")


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


def _discount(number: Written, snaps: list[Snap]) -> Fraction:
    value = single(number, snaps)
    if not 0 < value <= 1:
        number.fail("this is no discount", "a number above 0, and 1 at most")
    return value


def _absorbing(steps: Sequence[Sequence[Sequence[Branch]]]) -> frozenset[int]:
    """The states that are never left and pay nothing."""
    return frozenset(
        s
        for s, rows in enumerate(steps)
        if all(b.state == s and not b.reward for row in rows for b in row)
    )


def _start(start: Start | None, names: Names, snaps: list[Snap], renormalise: bool) -> Exact:
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
        return sums_to_one(row, "the start probabilities", start.place, snaps, renormalise)
    if start is not None and start.how != "uniform":
        listed = {i for token in start.states for i in names.find(token, "states")}
        chosen = listed if start.how == "include" else chosen - listed
        if not chosen:
            raise ParseError("this excludes every state", start.place, "start", "a state left")
    return {state: Fraction(1, len(chosen)) for state in sorted(chosen)}


def _state(number: Written, n: int) -> int:
    if number.value >= n:
        number.fail(f"there are {n} states", f"one state from 0 to {n - 1}, or {n} probabilities")
    return int(number.value)
