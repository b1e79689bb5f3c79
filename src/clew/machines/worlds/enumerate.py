"""Environments as finite POMDPs: follow every action from every state until nothing is new."""

from __future__ import annotations

import abc
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from clew.envs.enumeration import LIMIT
from clew.machines.exact.numbers import NumberLike, rational, summed
from clew.machines.model.pomdp import Begin, Branch, Film, Pomdp
from clew.validate import BadInput, whole_number

S = TypeVar("S")

StateVariables = Callable[[S], Mapping[str, Hashable]]
"""From a state of the environment to its named latent variables, which together identify it."""
Key = tuple[Hashable, ...]
"""The values of the variables."""
END = "end"
EPISODES, RETRACED = 16, 150


class TooFewVariables(BadInput):
    """States with equal variables behave differently."""


class Taken(NamedTuple):
    """One way an action can go from one state."""

    key: Key
    observation: int
    reward: Fraction
    ended: bool
    probability: Fraction = Fraction(1)


class First(NamedTuple, Generic[S]):
    """One way an episode can begin."""

    key: Key
    state: S
    observation: int
    probability: Fraction


class Walker(abc.ABC, Generic[S]):
    """An environment, many states at a time. An episode of `longest` steps meets no time limit."""

    def __init__(self, variables: StateVariables[S], actions: tuple[str, ...], longest: int):
        self.variables, self.actions, self.longest = variables, actions, longest
        self.names: tuple[str, ...] = ()
        self.seen: dict[Hashable, int] = {}
        """The observations so far, numbered."""
        self.words: Callable[[int], str] = lambda symbol: f"o{symbol}"
        """What an observation that is a symbol is called."""
        self.retraced = (EPISODES, RETRACED)
        """Random episodes that are compared with the finished table, and for how many steps."""
        self.way_out = ""
        """What to do where states with equal variables behave differently."""
        self.picture: Callable[[S], np.ndarray] | None = None
        """Of a state, for people; None if there is none."""

    def called(self, observation: Hashable) -> str:
        """In words; nothing for what is too long for them."""
        return self.words(observation) if isinstance(observation, int) else ""

    @abc.abstractmethod
    def step(self, states: Sequence[S]) -> list[list[list[tuple[Taken, S]]]]:
        """Every way each action can go from each state, and the state after."""

    def key(self, state: S) -> Key:
        """What tells a state from others."""
        variables = self.variables(state)
        self.names = self.names or tuple(variables)
        return tuple(variables.values())

    def number(self, observation: Hashable) -> int:
        """The number of an observation."""
        return self.seen.setdefault(observation, len(self.seen))


def walk(
    walker: Walker[S],
    begins: Sequence[First[S]],
    discount: NumberLike,
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate an environment.

    States are what the latent variables tell apart, and a time limit is left out: if two states
    with the same variables behave differently, the variables are too few and an error says so.
    When an episode ends, its last state is shown once and then leads to the state `end`.
    """
    whole_number("limit", limit, 1)
    table = _Table(walker, limit)
    frontier = table.new([(begin.key, begin.state) for begin in begins])
    while frontier:
        arrived = []
        rows = walker.step([state for _, state in frontier])
        for (key, _), row in zip(frontier, rows, strict=True):
            table.rows[key] = _laws(row)
            for taken, state in (way for ways in row for way in ways):
                if taken.ended:
                    table.ends[taken.key] = None
                else:
                    arrived.append((taken.key, state))
        known = [(key, state) for key, state in arrived if key in table.rows]
        if known:
            table.check(known)
        frontier = table.new(arrived)
    table.retrace(begins)
    return _pomdp(table, begins, rational("discount", discount), name)


def _laws(row: Sequence[Sequence[tuple[Taken, S]]]) -> tuple[frozenset[Taken], ...]:
    return tuple(frozenset(taken for taken, _ in ways) for ways in row)


class _Table(Generic[S]):
    """The states found so far, and what every action does to them."""

    def __init__(self, walker: Walker[S], limit: int):
        self.walker, self.limit = walker, limit
        self.rows: dict[Key, tuple[frozenset[Taken], ...]] = {}
        self.known: set[Key] = set()
        self.ends: dict[Key, None] = {}

    def new(self, arrived: Sequence[tuple[Key, S]]) -> list[tuple[Key, S]]:
        fresh = {key: state for key, state in arrived if key not in self.known}
        self.known.update(fresh)
        if len(self.known) > self.limit:
            raise BadInput(
                f"more than limit={self.limit:,} states; choose a smaller world, "
                "fewer latent variables or a higher limit"
            )
        return list(fresh.items())

    def check(self, met: Sequence[tuple[Key, S]]) -> list[list[list[tuple[Taken, S]]]]:
        """Step states of known keys again: the same variables must mean the same future."""
        rows = self.walker.step([state for _, state in met])
        for (key, _), row in zip(met, rows, strict=True):
            if _laws(row) != self.rows[key]:
                shown = dict(zip(self.walker.names, key, strict=True))
                raise TooFewVariables(
                    f"latent variables are too few: states with {shown} behave differently; the "
                    "reward, or a step, depends on something else, such as the time or the past"
                    f"{self.walker.way_out}"
                )
        return rows

    def retrace(self, begins: Sequence[First[S]]) -> None:
        """Random episodes, compared with the table step by step."""
        rng = random.Random(0)
        met: list[tuple[Key, S]] = []
        episodes, steps = self.walker.retraced
        for _ in range(min(steps, self.walker.longest)):
            while len(met) < episodes:
                begin = rng.choice(begins)
                met.append((begin.key, begin.state))
            ways = [row[rng.randrange(len(row))] for row in self.check(met)]
            turns = [some[rng.randrange(len(some)) if len(some) > 1 else 0] for some in ways]
            met = [(taken.key, state) for taken, state in turns if not taken.ended]


def _pomdp(table: _Table[S], begins: Sequence[First[S]], discount: Fraction, name: str) -> Pomdp:
    """Ended states show their last observation once; then there is only the end."""
    walker = table.walker
    index: dict[tuple[str, Key], int] = {("on", key): i for i, key in enumerate(table.rows)}
    for key in table.ends:
        index["over", key] = len(index)
    over, nothing = len(index), len(walker.seen)

    def branch(taken: Taken) -> Branch:
        state = index["over" if taken.ended else "on", taken.key]
        return Branch(state, taken.observation, taken.probability, taken.reward)

    last = tuple((Branch(over, nothing, Fraction(1), Fraction(0)),) for _ in walker.actions)
    steps = [
        tuple(tuple(sorted(branch(taken) for taken in ways)) for ways in row)
        for row in table.rows.values()
    ]
    start = summed(((index["on", b.key], b.observation), b.probability) for b in begins)
    return Pomdp(
        states=(*(_called(mode, key) for mode, key in index), END),
        actions=walker.actions,
        observations=(*_names(walker), END),
        start=tuple(Begin(s, o, p) for (s, o), p in start.items()),
        steps=(*steps, *[last] * (len(table.ends) + 1)),
        discount=discount,
        terminal=frozenset(range(len(table.rows), len(index) + 1)),
        variables={v: (*(key[i] for _, key in index), END) for i, v in enumerate(walker.names)},
        name=name or "world",
        film=_film(table, begins, index),
    )


def _film(
    table: _Table[S], begins: Sequence[First[S]], index: Mapping[tuple[str, Key], int]
) -> Film | None:
    """Play an episode again; once it is over, its last picture stays."""
    walker, picture = table.walker, table.walker.picture
    if picture is None:
        return None

    def film(states: Sequence[int], history: Sequence[int]) -> list[np.ndarray]:
        first = (states[0], history[0])
        now = next(b.state for b in begins if (index["on", b.key], b.observation) == first)
        shown, over = [picture(now)], False
        for place, action, seen in zip(states[1:], history[1::2], history[2::2], strict=True):
            for taken, after in () if over else walker.step([now])[0][action]:
                # where the end is hidden, ended states have other numbers: they are not compared
                same = taken.ended or index["on", taken.key] == place
                ends = place >= len(table.rows)
                if same and (taken.ended, taken.observation) == (ends, seen):
                    now, over = after, taken.ended
                    break
            shown.append(picture(now))
        return shown

    return film


def _called(mode: str, key: Key) -> str:
    words = " ".join(map(str, key))
    return words if mode == "on" else f"{words} (over)"


def _names(walker: Walker[S]) -> Iterator[str]:
    """Observations as people read them; a name that comes twice gets its number."""
    names = [walker.called(seen) or f"view {number}" for seen, number in walker.seen.items()]
    often = Counter([*names, END])
    for number, name in enumerate(names):
        yield name if often[name] == 1 else f"{name} ({number})"
