"""T, O and R as the statements of a `.POMDP` file fill them, later ones over earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from clew.machines.formats.cassandra.parser import (
    NUMBER,
    SETS,
    STAR,
    Listing,
    TableEntry,
    Token,
    Tree,
)
from clew.machines.formats.numbers import Snap, Written, distribution, single
from clew.machines.formats.text import Limits, ParseError, Place
from clew.validate import hint

Exact = dict[int, Fraction]
ROUNDING = Fraction(1, 10**4)
"""How far a sum may be off to be renormalised on request."""
KINDS = {
    "T": ("actions", "states", "states"),
    "O": ("actions", "states", "observations"),
    "R": ("actions", "states", "states", "observations"),
}
"""What the parts of an entry refer to."""
ROW_OF = {"T": "the transition probabilities from", "O": "the observation probabilities in"}


class Filling:
    """Rows of T and O by (table, action, state), and rules for R."""

    def __init__(self, names: Names, limits: Limits):
        self.names, self.limits, self.spent = names, limits, 0
        self.rows: dict[tuple[str, int, int], dict[int, Written]] = {}
        self.places: dict[tuple[str, int, int], Place] = {}
        self.rewards = Rewards()

    def fill(self, entry: TableEntry, start: Exact) -> None:
        """Set the cells of T or O that `entry` names."""
        kinds, given = KINDS[entry.table], len(entry.keys)
        actions, states, columns = (
            self.names.find(entry.keys[part], kind)
            if part < given
            else range(len(self.names.of[kind]))
            for part, kind in enumerate(kinds)
        )
        cells = [(entry.table, a, s) for a in actions for s in states]
        if given == 3:
            self.spend(entry, len(cells) * len(columns))
            if entry.shorthand is not None:
                entry.shorthand.fail("this is for a row or a matrix", "one probability")
            ((number,),) = _numbers(entry, 1, 1)
            for here in cells:
                self.rows[here] = self.rows.get(here, {}) | dict.fromkeys(columns, number)
        else:
            height = len(states) if given == 1 else 1
            rows = _rows(entry, height, len(columns), start)
            # rows that are the same are one object, until a later statement changes one
            different = len({id(row) for row in rows})
            self.spend(entry, max(len(cells), different * max(map(len, rows))))
            for nth, here in enumerate(cells):
                self.rows[here] = rows[nth % height]
        self.places.update(dict.fromkeys(cells, entry.place))

    def pay(self, entry: TableEntry, sign: int, snaps: list[Snap]) -> None:
        """Add the rules for R that `entry` states."""
        given = len(entry.keys)
        if given == 1 or entry.shorthand is not None:
            token = entry.shorthand or entry.keys[0]
            wanted = "R: action : state : next state : observation and a number, or a row or matrix"
            message = "a reward needs a number; a row or matrix of them needs action and state"
            token.fail(message, wanted)
        head = [
            None if key.text == "*" else self.names.find(key, kind)[0]
            for key, kind in zip(entry.keys, KINDS["R"], strict=False)
        ]
        height = len(self.names.of["states"]) if given == 2 else 1
        width = len(self.names.of["observations"]) if given < 4 else 1
        self.spend(entry, height * width)
        for s2, row in enumerate(_numbers(entry, height, width, probabilities=False)):
            for o, number in enumerate(row):
                a, s, t, seen = (*head, *(s2, o)[given - 2 :])
                self.rewards.add((a, s, t, seen), sign * single(number, snaps))

    def exact(self, table: str, end: Place, snaps: list[Snap]) -> list[list[Exact]]:
        """Every row of a table, by action and state, as the probabilities it means."""
        count = sum(len(row) for (kind, _, _), row in self.rows.items() if kind == table)
        what = f"{table} has too many probabilities"
        self.limits.check("branches", count, end, what)
        return [
            [
                sums_to_one(
                    self.rows.get((table, a, s), {}),
                    f"{ROW_OF[table]} {state!r} under {action!r}",
                    self.places.get((table, a, s), end),
                    snaps,
                    self.limits.renormalise,
                )
                for s, state in enumerate(self.names.of["states"])
            ]
            for a, action in enumerate(self.names.of["actions"])
        ]

    def spend(self, entry: TableEntry, cells: int) -> None:
        """Count the cells that `entry` sets, before they are set."""
        self.spent += cells
        self.limits.check("cells", self.spent, entry.place, "the statements set too many cells")


def sums_to_one(
    row: dict[int, Written], what: str, place: Place, snaps: list[Snap], renormalise: bool = False
) -> Exact:
    """The probabilities that a row means, or an error with their sum."""
    reading = distribution(row, snaps)
    if reading is not None:
        return reading
    total = sum((number.value for number in row.values()), Fraction(0))
    near = abs(total - 1) <= ROUNDING
    if renormalise and near:
        snaps.append(Snap(f"a row that adds up to {float(total):.10g}", Fraction(1), place))
        return {key: number.value / total for key, number in row.items() if number.value}
    wanted = "exactly 1"
    if near and not renormalise:
        wanted += " (--renormalise, or Limits(renormalise=True), divides by such sums)"
    raise ParseError(f"{what} add up to {float(total):.10g}", place, None, wanted)


def exactly(n: int, numbers: Sequence[Written], place: Place, probabilities: bool = True) -> None:
    """Refuse fewer numbers than `n`, more, and numbers that are no probabilities."""
    if len(numbers) > n:
        numbers[n].fail(f"{n} numbers belong here", "the next statement")
    if len(numbers) < n:
        said = f"the statement at {place} has {len(numbers)} numbers, the last one here"
        numbers[-1].fail(said, f"{n} numbers")
    for number in numbers if probabilities else ():
        if number.value > 1:
            number.fail("this is no probability", "0 to 1")


def _numbers(
    entry: TableEntry, height: int, width: int, probabilities: bool = True
) -> list[list[Written]]:
    exactly(height * width, entry.numbers, entry.place, probabilities)
    return [list(entry.numbers[r * width : (r + 1) * width]) for r in range(height)]


def _rows(entry: TableEntry, height: int, width: int, start: Exact) -> list[dict[int, Written]]:
    """Whole rows, without their zeros."""
    if entry.shorthand is not None:
        return _shorthand(entry, height, width, start)
    return [
        {column: number for column, number in enumerate(row) if number.value}
        for row in _numbers(entry, height, width)
    ]


def _shorthand(
    entry: TableEntry, height: int, width: int, start: Exact
) -> list[dict[int, Written]]:
    """The rows that a word stands for: `uniform`, `reset` to the start, or `identity`."""
    word, given = entry.shorthand, len(entry.keys)
    assert word is not None
    allowed = ["uniform"] if given < 3 else []
    if entry.table == "T":
        allowed += ["reset", "identity"][: max(3 - given, 0)]
    if word.text not in allowed:
        word.fail("this word cannot stand here", " or ".join(("numbers", *map(repr, allowed))))

    def row(law: Exact) -> dict[int, Written]:
        return {c: Written(p, 0, str(p), word.place) for c, p in law.items() if p}

    if word.text == "identity":
        return [row({r: Fraction(1)}) for r in range(height)]
    same = start if word.text == "reset" else dict.fromkeys(range(width), Fraction(1, width))
    return [row(same)] * height


LONGEST_COUNT = 18
"""Digits of a count or an index; more is refused without being converted."""


class Names:
    """Declared names by kind ("states", …), and what a reference to one of them means."""

    def __init__(self, tree: Tree, limits: Limits):
        counts = {kind: _count(tree.sets[kind]) for kind in SETS}
        limits.of_tables(tree.sets["states"].place, **counts)
        self.of = {kind: _names(tree.sets[kind], counts[kind]) for kind in SETS}
        self._index = {
            kind: {name: i for i, name in enumerate(names)} for kind, names in self.of.items()
        }

    def find(self, token: Token, kind: str) -> Sequence[int]:
        """The indices that `token`, a name, a number from 0 or a wildcard, stands for."""
        names = self.of[kind]
        if token.kind == STAR:
            return range(len(names))
        if token.kind == NUMBER:
            index = _whole(token, f"number of one of the {kind}")
            if index >= len(names):
                last = len(names) - 1
                token.fail(
                    f"there are {last + 1} {kind}", f"a number from 0 to {last}, a name or '*'"
                )
            return (index,)
        if token.text not in self._index[kind]:
            said = f"this is none of the {kind}{hint(token.text, names)}"
            token.fail(said, f"a name that '{kind}:' lists, its number or '*'")
        return (self._index[kind][token.text],)


def _count(listing: Listing) -> int:
    if listing.count is None:
        return len(listing.names)
    count = _whole(listing.count, "count")
    if count < 1:
        listing.count.fail("there must be at least one", "1 or more")
    return count


def _names(listing: Listing, count: int) -> tuple[str, ...]:
    if listing.count is not None:
        return tuple(str(i) for i in range(count))
    seen: set[str] = set()
    for token in listing.names:
        if token.text in seen:
            token.fail("this name is listed twice")
        seen.add(token.text)
    return tuple(token.text for token in listing.names)


def _whole(token: Token, what: str) -> int:
    if not token.text.isdigit() or len(token.text) > LONGEST_COUNT:
        token.fail(f"this is no {what}", f"a whole number of at most {LONGEST_COUNT} digits")
    return int(token.text)


RewardKey = tuple[int, int, int, int]
"""Action, state, next state, observation."""
Pattern = tuple[int | None, int | None, int | None, int | None]
"""A cell of which some parts may be anything."""


class Rewards:
    """Rules with wildcards, of which the last that fits counts; where none fits, 0 is paid.

    The table itself has actions × states × states × observations cells and is never laid out.
    """

    def __init__(self) -> None:
        self._rules: dict[Pattern, tuple[int, Fraction]] = {}
        self._shapes: dict[tuple[bool, ...], None] = {}
        self._count = 0

    def add(self, pattern: Pattern, value: Fraction) -> None:
        """A new rule, which overrides the older ones wherever it fits."""
        self._count += 1
        self._rules[pattern] = (self._count, value)
        self._shapes[tuple(part is not None for part in pattern)] = None

    def __call__(self, cell: RewardKey) -> Fraction:
        """What `cell` pays. There are at most sixteen shapes of pattern, so few look-ups."""
        newest, reward = 0, Fraction(0)
        for shape in self._shapes:
            a, s, t, o = (part if fixed else None for part, fixed in zip(cell, shape, strict=True))
            age, value = self._rules.get((a, s, t, o), (0, reward))
            if age > newest:
                newest, reward = age, value
        return reward
