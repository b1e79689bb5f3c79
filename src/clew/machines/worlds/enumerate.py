"""Environments as finite POMDPs: follow every action from every state until nothing is new."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from clew.envs.enumeration import LIMIT
from clew.machines.exact.numbers import rational
from clew.machines.model.pomdp import Begin, Branch, Pomdp
from clew.validate import BadInput, whole_number

Latent = Callable[[Any], Mapping[str, Hashable]]
"""From a state of the environment to its named latent variables, which together identify it."""
Key = tuple[Hashable, ...]
END = "end"
WALKERS, RETRACED = 16, 150
"""Random episodes that are compared with the finished table, and for how many steps."""


class Taken(NamedTuple):
    """What one action did to one state."""

    key: Key
    observation: int
    reward: Fraction
    ended: bool


class Walker(Protocol):
    """An environment, many states at a time."""

    actions: tuple[str, ...]
    names: tuple[str, ...]
    """The latent variables, in the order of the keys."""
    seen: dict[Hashable, int]
    """The observations so far, numbered."""
    longest: int
    """Steps that an episode can have before a time limit interferes."""

    def step(self, states: Sequence[Any]) -> tuple[list[tuple[Taken, ...]], list[list[Any]]]:
        """What every action does to each state, and the states after."""
        ...


class First(NamedTuple):
    """One way an episode can begin."""

    key: Key
    state: Any
    observation: int
    probability: Fraction


def walk(
    walker: Walker, begins: Sequence[First], discount: Any, limit: int = LIMIT, name: str = ""
) -> Pomdp:
    """Enumerate an environment whose steps are not random.

    States are what the latent variables tell apart, and a time limit is left out: if two states
    with the same variables behave differently, the variables are too few and an error says so.
    When an episode ends, its last state is shown once and then leads to the state `end`.
    """
    whole_number("limit", limit, 1)
    table = _Table(limit)
    frontier = table.new([(begin.key, begin.state) for begin in begins])
    while frontier:
        taken, after = walker.step([state for _, state in frontier])
        arrived = []
        for (key, _), row, row_after in zip(frontier, taken, after, strict=True):
            table.rows[key] = row
            for one, state in zip(row, row_after, strict=True):
                if one.ended:
                    table.ends[one.key] = None
                else:
                    arrived.append((one.key, state))
        known = [(key, state) for key, state in arrived if key in table.rows]
        if known:
            table.check(walker, known)
        frontier = table.new(arrived)
    table.retrace(walker, begins)
    return _pomdp(table, walker, begins, rational("discount", discount), name)


class _Table:
    """The states found so far, and what every action does to them."""

    def __init__(self, limit: int):
        self.limit = limit
        self.rows: dict[Key, tuple[Taken, ...]] = {}
        self.known: dict[Key, Any] = {}
        self.ends: dict[Key, None] = {}

    def new(self, arrived: Sequence[tuple[Key, Any]]) -> list[tuple[Key, Any]]:
        fresh = {key: state for key, state in arrived if key not in self.known}
        self.known.update(fresh)
        if len(self.known) > self.limit:
            raise BadInput(
                f"more than limit={self.limit:,} states; choose a smaller world, "
                "fewer latent variables or a higher limit"
            )
        return list(fresh.items())

    def check(self, walker: Walker, met: Sequence[tuple[Key, Any]]) -> list[list[Any]]:
        """Step states of known keys again: the same variables must mean the same future."""
        rows, after = walker.step([state for _, state in met])
        for (key, _), row in zip(met, rows, strict=True):
            if row != self.rows[key]:
                shown = dict(zip(walker.names, key, strict=True))
                raise BadInput(
                    f"latent variables are too few: states with {shown} behave differently; the "
                    "reward, or a step, depends on something else, such as the time or the past"
                )
        return after

    def retrace(self, walker: Walker, begins: Sequence[First]) -> None:
        """Random episodes, compared with the table step by step."""
        rng = random.Random(0)
        met: list[tuple[Key, Any]] = []
        for _ in range(min(RETRACED, walker.longest)):
            while len(met) < WALKERS:
                begin = rng.choice(begins)
                met.append((begin.key, begin.state))
            after = self.check(walker, met)
            turns = [(self.rows[key], states) for (key, _), states in zip(met, after, strict=True)]
            moved = [(rng.randrange(len(row)), row, states) for row, states in turns]
            met = [(row[a].key, states[a]) for a, row, states in moved if not row[a].ended]


def _pomdp(
    table: _Table, walker: Walker, begins: Sequence[First], discount: Fraction, name: str
) -> Pomdp:
    """Ended states show their last observation once; then there is only the end."""
    index: dict[tuple[str, Key], int] = {("on", key): i for i, key in enumerate(table.rows)}
    for key in table.ends:
        index["over", key] = len(index)
    over, nothing = len(index), len(walker.seen)
    one, zero = Fraction(1), Fraction(0)

    def branch(taken: Taken) -> Branch:
        state = index["over" if taken.ended else "on", taken.key]
        return Branch(state, taken.observation, one, taken.reward)

    last = tuple((Branch(over, nothing, one, zero),) for _ in walker.actions)
    steps = [tuple((branch(taken),) for taken in row) for row in table.rows.values()]
    start: dict[tuple[int, int], Fraction] = {}
    for begin in begins:
        place = (index["on", begin.key], begin.observation)
        start[place] = start.get(place, zero) + begin.probability
    return Pomdp(
        states=(*(_called(mode, key) for mode, key in index), END),
        actions=walker.actions,
        observations=(*(_seen(symbol, i) for symbol, i in walker.seen.items()), END),
        start=tuple(Begin(s, o, p) for (s, o), p in start.items()),
        steps=(*steps, *[last] * (len(table.ends) + 1)),
        discount=discount,
        terminal=frozenset(range(len(table.rows), len(index) + 1)),
        variables={v: (*(key[i] for _, key in index), END) for i, v in enumerate(walker.names)},
        name=name or "world",
    )


def _called(mode: str, key: Key) -> str:
    words = " ".join(map(str, key))
    return words if mode == "on" else f"{words} (over)"


def _seen(symbol: Hashable, number: int) -> str:
    return f"o{symbol}" if isinstance(symbol, int) else f"view {number}"
