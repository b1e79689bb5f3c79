"""Environments as finite POMDPs: follow every action from every state until nothing is new.

This is the one place where `clew.machines` meets jax; it is imported when a world is enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.machines.pomdp import Begin, Branch, Pomdp
from clew.machines.rationals import meant_by, rational
from clew.validate import BadInput, whole_number

if TYPE_CHECKING:
    from clew.envs.base import Environment

Latent = Callable[[Any], Mapping[str, Hashable]]
"""From a state of the environment to its named latent variables, which together identify it."""
END = "end"
LIMIT = 200_000


class Taken(NamedTuple):
    """What one action did to one state."""

    key: tuple[Hashable, ...]
    observation: int
    reward: Fraction
    ended: bool


def from_world(
    env: Environment,
    *,
    latent: Latent,
    levels: Iterable[tuple[Any, Any]],
    reward: str | Mapping[str, float] = "sparse",
    discount: Any = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate a world of `clew.envs`, whose steps must not be random.

    States are what `latent` tells apart, and the time limit is left out: if two states with the
    same latent variables behave differently, the variables are too few and an error says so.
    When an episode ends, its last state is shown once and then leads to the state `end`.
    """
    whole_number("limit", limit, 1)
    walker = _Walker(env, latent, _prices(env, reward))
    starts = [(level, rational("probability of a level", p)) for level, p in levels]
    states, shown = walker.start([level for level, _ in starts])
    begins = [
        (walker.key(state), o, p) for state, o, (_, p) in zip(states, shown, starts, strict=True)
    ]
    table = _Table(limit)
    frontier = table.new([(key, state) for (key, _, _), state in zip(begins, states, strict=True)])
    while frontier:
        taken, after = walker.step([state for _, state in frontier])
        arrived = []
        for (key, _), row, row_after in zip(frontier, taken, after, strict=True):
            table.rows[key] = row
            arrived += [
                (one.key, state) for one, state in zip(row, row_after, strict=True) if not one.ended
            ]
            table.ends.update({one.key: None for one in row if one.ended})
        table.check(walker, arrived)
        frontier = table.new(arrived)
    return _pomdp(table, begins, env.action_names, walker.seen, walker.names, discount, name)


class _Table:
    """The states found so far, and what every action does to them."""

    def __init__(self, limit: int):
        self.limit = limit
        self.rows: dict[tuple, tuple[Taken, ...]] = {}
        self.known: dict[tuple, Any] = {}
        self.ends: dict[tuple, None] = {}
        self.checked: set[tuple] = set()

    def new(self, arrived: Sequence[tuple[tuple, Any]]) -> list[tuple[tuple, Any]]:
        fresh = {key: state for key, state in arrived if key not in self.known}
        self.known.update(fresh)
        if len(self.known) > self.limit:
            raise BadInput(
                f"more than limit={self.limit:,} states; choose a smaller world, "
                "fewer latent variables or a higher limit"
            )
        return list(fresh.items())

    def check(self, walker: _Walker, arrived: Sequence[tuple[tuple, Any]]) -> None:
        """Step one more state of every known key: the same variables must mean the same future."""
        again = {
            key: state for key, state in arrived if key in self.rows and key not in self.checked
        }
        self.checked.update(again)
        if not again:
            return
        for key, row in zip(again, walker.step(list(again.values()))[0], strict=True):
            if row != self.rows[key]:
                shown = dict(zip(walker.names, key, strict=True))
                raise BadInput(
                    f"latent variables are too few: states with {shown} behave differently "
                    "(does the reward depend on something else?)"
                )


class _Walker:
    """Starts and steps of a world, many at a time."""

    def __init__(self, env: Environment, latent: Latent, prices: tuple[Fraction, ...]):
        import jax

        self.env, self.latent, self.prices, self.jax = env, latent, prices, jax
        self.names: tuple[str, ...] = ()
        self.seen: dict[Hashable, int] = {}
        actions = jax.numpy.arange(len(env.action_names))
        key = jax.random.key(0)
        every = jax.vmap(lambda state, action: env.step(state, action, key), (None, 0))
        self._step = jax.jit(jax.vmap(every, (0, None)))
        self._actions = actions

    def key(self, state: Any) -> tuple[Hashable, ...]:
        variables = self.latent(state)
        self.names = self.names or tuple(variables)
        return tuple(variables.values())

    def start(self, levels: Sequence[Any]) -> tuple[list[Any], list[int]]:
        jax = self.jax
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *levels)
        states, shown = jax.vmap(self.env.start)(stacked)
        return self._split(states, 1), [self._number(o) for o in np.asarray(shown)]

    def step(self, states: Sequence[Any]) -> tuple[list[tuple[Taken, ...]], list[list[Any]]]:
        """What every action does to each state, and the states after."""
        jax = self.jax
        # lengths are rounded up, so that few programs are compiled
        padded = [*states, *[states[0]] * (_rounded(len(states)) - len(states))]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
        after, step = jax.tree.map(np.asarray, self._step(stacked, self._actions))
        taken, landed = [], []
        flat = self._split(after, 2)
        n = len(self._actions)
        for i in range(len(states)):
            row = [
                Taken(
                    self.key(flat[i * n + a]),
                    self._number(step.obs[i, a]),
                    sum(
                        (
                            p * meant_by(float(e))
                            for p, e in zip(self.prices, step.events[i, a], strict=True)
                            if e
                        ),
                        Fraction(0),
                    ),
                    bool(step.terminated[i, a]),
                )
                for a in range(n)
            ]
            taken.append(tuple(row))
            landed.append(flat[i * n : (i + 1) * n])
        return taken, landed

    def _split(self, batch: Any, depth: int) -> list[Any]:
        leaves, form = self.jax.tree.flatten(batch)
        flat = [np.asarray(leaf).reshape(-1, *np.shape(leaf)[depth:]) for leaf in leaves]
        return [form.unflatten([leaf[i] for leaf in flat]) for i in range(len(flat[0]))]

    def _number(self, obs: Any) -> int:
        array = np.asarray(obs)
        symbol: Hashable = int(array) if array.ndim == 0 else array.tobytes()
        return self.seen.setdefault(symbol, len(self.seen))


def _rounded(n: int) -> int:
    size = 16
    while size < n:
        size *= 4
    return size


def _prices(env: Environment, reward: str | Mapping[str, float]) -> tuple[Fraction, ...]:
    return tuple(meant_by(float(price)) for price in env.prices(reward))


def _pomdp(
    table: _Table,
    begins: list[tuple[tuple, int, Fraction]],
    actions: Sequence[str],
    seen: Mapping[Hashable, int],
    names: Sequence[str],
    discount: Any,
    name: str,
) -> Pomdp:
    """Ended states show their last observation once; then there is only the end."""
    final = dict.fromkeys(table.ends)
    index = {("on", key): i for i, key in enumerate(table.rows)}
    index |= {("over", key): len(index) + i for i, key in enumerate(final)}
    over, nothing = len(index), len(seen)
    one, zero = Fraction(1), Fraction(0)

    def branch(taken: Taken) -> Branch:
        state = index["over" if taken.ended else "on", taken.key]
        return Branch(state, taken.observation, one, taken.reward)

    last = tuple((Branch(over, nothing, one, zero),) for _ in actions)
    steps = [tuple((branch(taken),) for taken in row) for row in table.rows.values()]
    steps += [last] * (len(final) + 1)
    values = [key for _, key in index]
    start: dict[tuple[int, int], Fraction] = {}
    for key, o, p in begins:
        place = (index["on", key], o)
        start[place] = start.get(place, zero) + p
    return Pomdp(
        states=(*(_called(mode, key) for mode, key in index), END),
        actions=tuple(actions),
        observations=(*(_seen(symbol, i) for symbol, i in seen.items()), END),
        start=tuple(Begin(s, o, p) for (s, o), p in start.items()),
        steps=tuple(steps),
        discount=rational("discount", discount),
        terminal=frozenset(range(len(table.rows), len(index) + 1)),
        variables={v: (*(key[i] for key in values), END) for i, v in enumerate(names)},
        name=name or "world",
    )


def _called(mode: str, key: tuple) -> str:
    words = " ".join(map(str, key))
    return words if mode == "on" else f"{words} (over)"


def _seen(symbol: Hashable, number: int) -> str:
    return f"o{symbol}" if isinstance(symbol, int) else f"image {number}"
