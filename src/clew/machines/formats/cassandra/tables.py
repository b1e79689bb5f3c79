"""A syntax tree of the `.POMDP` format, looked up and filled in: names, exact tables, rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.formats.cassandra.names import Names
from clew.machines.formats.cassandra.rewards import Rewards
from clew.machines.formats.cassandra.tree import SETS, Entry, Start, Tree
from clew.machines.formats.limits import Limits
from clew.machines.formats.numbers import Snap, Written, distribution, single
from clew.machines.formats.place import ParseError, Place

Exact = dict[int, Fraction]
COLUMNS = {"T": "states", "O": "observations"}
MEANING = {"T": "the transition probabilities from", "O": "the observation probabilities in"}


@dataclass(frozen=True)
class Tables:
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


def tables(tree: Tree, limits: Limits) -> Tables:
    """Fill in the tables that `tree` describes; every row adds up to exactly one."""
    missing = [name for name in ("discount", "values") if getattr(tree, name) is None]
    missing += [name for name in SETS if name not in tree.sets]
    if missing:
        wanted = " and ".join(f"'{name}:'" for name in missing)
        raise ParseError(f"the file does not say {' and '.join(missing)}", tree.end, "", wanted)
    names = Names(tree, limits)
    snaps: list[Snap] = []
    filling = _Filling(tree, names, limits)
    start = _start(tree.start, names, snaps)
    for entry in tree.entries:
        if entry.table == "R":
            filling.pay(entry, snaps)
        else:
            filling.fill(entry, start)
    return Tables(
        *(names.of[kind] for kind in SETS),
        discount=_discount(tree, snaps),
        start=start,
        transition=filling.exact("T", snaps),
        observation=filling.exact("O", snaps),
        reward=filling.rewards,
        snaps=tuple(dict.fromkeys(snaps)),
    )


def _discount(tree: Tree, snaps: list[Snap]) -> Fraction:
    assert tree.discount is not None
    value = single(tree.discount, snaps)
    if not 0 < value < 1:
        place, text = tree.discount.place, tree.discount.text
        raise ParseError("this is no discount", place, text, "a number above 0 and below 1")
    return value


def _start(start: Start | None, names: Names, snaps: list[Snap]) -> Exact:
    """The first belief; uniform over all states where the file does not say."""
    n = len(names.of["states"])
    chosen = set(range(n))
    if start is not None and start.how == "vector":
        first = start.vector[0]
        if n > 1 and len(start.vector) == 1 and first.text.isdigit():
            return {_state(first, n): Fraction(1)}
        _exactly(n, start.vector, start.place, "the start has one probability for each state")
        row = dict(enumerate(start.vector))
        return _sums_to_one(row, "the start probabilities", start.place, snaps)
    if start is not None and start.how != "uniform":
        listed = {i for token in start.states for i in names.find(token, "states")}
        chosen = listed if start.how == "include" else chosen - listed
        if not chosen:
            raise ParseError(
                "this excludes every state", start.place, "start", "a state to be left"
            )
    return {state: Fraction(1, len(chosen)) for state in sorted(chosen)}


def _state(number: Written, n: int) -> int:
    if number.value >= n:
        wanted = f"one state from 0 to {n - 1}, or {n} probabilities"
        raise ParseError(f"there are {n} states", number.place, number.text, wanted)
    return int(number.value)


class _Filling:
    """Tables as the statements of a file fill them, later statements over earlier ones."""

    def __init__(self, tree: Tree, names: Names, limits: Limits):
        self.names, self.limits, self.spent = names, limits, 0
        self.sign = -1 if tree.values is not None and tree.values.text == "cost" else 1
        self.end = tree.end
        self.rows: dict[tuple[str, int, int], dict[int, Written]] = {}
        self.places: dict[tuple[str, int, int], Place] = {}
        self.rewards = Rewards()

    def fill(self, entry: Entry, start: Exact) -> None:
        """Set the cells of T or O that `entry` names."""
        kinds = ("actions", "states", COLUMNS[entry.table])
        actions, *rest = (
            self.names.find(key, kind) for key, kind in zip(entry.keys, kinds, strict=False)
        )
        states = rest[0] if rest else range(len(self.names.of["states"]))
        width = len(self.names.of[kinds[2]])
        columns = rest[1] if len(rest) == 2 else range(width)
        self.spend(entry, len(actions) * len(states) * len(columns))
        blocks = _blocks(entry, len(states) if not rest else 1, width, start)
        for a in actions:
            for nth, s in enumerate(states):
                row = self.rows.setdefault((entry.table, a, s), {})
                self.places[entry.table, a, s] = entry.place
                block = blocks[nth if not rest else 0]
                row.update(
                    zip(columns, block * len(columns) if len(rest) == 2 else block, strict=True)
                )

    def pay(self, entry: Entry, snaps: list[Snap]) -> None:
        """Add the rules for R that `entry` states."""
        if len(entry.keys) == 1 or entry.shorthand is not None:
            token = entry.keys[-1] if entry.shorthand is None else entry.shorthand
            raise ParseError(
                "rewards are written out for an action and a state at least",
                token.place,
                token.text,
                "R: action : state : next state : observation and a number, or fewer parts and a "
                "row or matrix",
            )
        n, m = len(self.names.of["states"]), len(self.names.of["observations"])
        shape = {2: (n, m), 3: (1, m), 4: (1, 1)}[len(entry.keys)]
        _exactly(
            shape[0] * shape[1],
            entry.numbers,
            entry.place,
            "a reward of this form has a number for each cell",
        )
        kinds = ("actions", "states", "states", "observations")
        keys = [
            None if key.text == "*" else self.names.find(key, kind)[0]
            for key, kind in zip(entry.keys, kinds, strict=False)
        ]
        self.spend(entry, len(entry.numbers))
        for nth, number in enumerate(entry.numbers):
            tail = (
                [divmod(nth, m)[0], nth % m] if len(keys) == 2 else [nth] if len(keys) == 3 else []
            )
            a, s, t, o = keys + tail
            self.rewards.add((a, s, t, o), self.sign * single(number, snaps))

    def exact(self, table: str, snaps: list[Snap]) -> list[list[Exact]]:
        """Every row of a table as the probabilities it means."""
        result: list[list[Exact]] = []
        for a, action in enumerate(self.names.of["actions"]):
            result.append([])
            for s, state in enumerate(self.names.of["states"]):
                what = f"{MEANING[table]} {state!r} under {action!r}"
                place = self.places.get((table, a, s), self.end)
                row = self.rows.get((table, a, s), {})
                result[a].append(_sums_to_one(row, what, place, snaps))
        return result

    def spend(self, entry: Entry, cells: int) -> None:
        """Count the cells that `entry` sets, before they are set."""
        self.spent += cells
        self.limits.check("cells", self.spent, entry.place, "the statements set too many cells")


def _blocks(entry: Entry, rows: int, width: int, start: Exact) -> list[list[Written]]:
    """The rows that a statement writes: one for all its states, or one for each."""
    if entry.shorthand is None:
        parts = len(entry.keys)
        size = 1 if parts == 3 else width
        what = {3: "a single entry has one number", 2: "a row has one number for each column"}
        _exactly(
            rows * size,
            entry.numbers,
            entry.place,
            what.get(parts, "a matrix has one number for each cell"),
        )
        for number in entry.numbers:
            if number.value > 1:
                raise ParseError("this is no probability", number.place, number.text, "0 to 1")
        return [list(entry.numbers[r * size : (r + 1) * size]) for r in range(rows)]
    word = entry.shorthand
    allowed = ["uniform"] * (len(entry.keys) < 3)
    if entry.table == "T" and len(entry.keys) < 3:
        allowed += ["reset"] + ["identity"] * (len(entry.keys) == 1)
    if word.text not in allowed:
        wanted = " or ".join(("numbers", *map(repr, allowed)))
        raise ParseError("this word cannot stand here", word.place, word.text, wanted)
    fill = {"uniform": dict.fromkeys(range(width), Fraction(1, width)), "reset": start}
    contents = [fill.get(word.text, {r: Fraction(1)}) for r in range(rows)]
    return [[_exact(row.get(c, Fraction(0)), word.place) for c in range(width)] for row in contents]


def _exact(value: Fraction, place: Place) -> Written:
    return Written(value, 0, str(value), place)


def _exactly(n: int, numbers: Sequence[Written], place: Place, what: str) -> None:
    """Refuse fewer numbers than `n`, and more."""
    if len(numbers) > n:
        extra = numbers[n]
        raise ParseError(f"{what}, {n} here", extra.place, extra.text, "the next statement")
    if len(numbers) < n:
        raise ParseError(f"{what}, {n} here; there are {len(numbers)}", place)


def _sums_to_one(row: dict[int, Written], what: str, place: Place, snaps: list[Snap]) -> Exact:
    reading = distribution(row, snaps)
    if reading is None:
        total = sum((number.value for number in row.values()), Fraction(0))
        raise ParseError(f"{what} add up to {float(total):.10g}", place, None, "exactly 1")
    return reading
