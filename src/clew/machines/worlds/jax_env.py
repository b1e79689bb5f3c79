"""Worlds of `clew.envs`, stepped many at a time. (It imports jax: import it late.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import jax
import numpy as np
from jaxtyping import PyTree

from clew.envs.base import Environment, Step
from clew.envs.enumeration import LIMIT
from clew.machines.exact.numbers import NumberLike, meant_by, rational
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import First, StateVariables, Taken, Walker, walk
from clew.validate import BadInput

BATCH = 256
KEYS = 3
"""Under which steps are compared: no step may be random."""
State = PyTree[np.ndarray]


def from_world(
    env: Environment,
    variables: StateVariables,
    levels: Iterable[tuple[PyTree[np.ndarray], NumberLike]],
    *,
    reward: str | Mapping[str, float] = "sparse",
    discount: NumberLike = "99/100",
    limit: int = LIMIT,
    name: str = "",
    words: Callable[[int], str] | None = None,
) -> Pomdp:
    """Enumerate a world from its levels and their probabilities."""
    walker = JaxWalker(env, variables, env.prices(reward))
    walker.words = words or walker.words
    return walked(walker, levels, discount, limit, name)


def walked(
    walker: JaxWalker,
    levels: Iterable[tuple[PyTree[np.ndarray], NumberLike]],
    discount: NumberLike = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """The same by a walker, which then has the observations by their numbers."""
    weighted = [(level, rational("probability of a level", p)) for level, p in levels]
    return walk(walker, walker.start(weighted), discount, limit, name)


class JaxWalker(Walker[State]):
    """Starts and steps of a world."""

    def __init__(self, env: Environment, variables: StateVariables, prices: np.ndarray):
        super().__init__(variables, env.action_names, env.horizon - 1)
        self.env, self.picture = env, env.picture
        self.prices = [meant_by(float(price)) for price in prices]
        key = jax.random.key(0)
        every = jax.vmap(lambda state, action, key: env.step(state, action, key), (None, 0, None))
        self._step = jax.jit(jax.vmap(every, (0, None, None)))
        self._keys = jax.random.split(key, KEYS)
        self._amounts: dict[bytes, Fraction] = {}

    def start(self, levels: Sequence[tuple[PyTree[np.ndarray], Fraction]]) -> list[First[State]]:
        """Begin an episode in each level."""
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(level for level, _ in levels))
        states, shown = jax.tree.map(np.asarray, jax.vmap(self.env.start)(stacked))
        return [
            First(self.key(state), state, self._shown(shown[i]), levels[i][1])
            for i, state in enumerate(_split(states, 1))
        ]

    def step(self, states: Sequence[State]) -> list[list[list[tuple[Taken, State]]]]:
        """What every action does to each state, and the state after."""
        rows = []
        n = len(self.actions)
        for first in range(0, len(states), BATCH):
            some = states[first : first + BATCH]
            # always as many at a time, so that one program is compiled
            after, step = self._batch([*some, *[some[0]] * (BATCH - len(some))])
            landed = _split(after, 2, n * len(some))
            facts = zip(landed, *self._facts(step, len(some)), strict=True)
            ways = [[(Taken(self.key(s), o, paid, ended), s)] for s, o, paid, ended in facts]
            rows += [ways[i : i + n] for i in range(0, len(ways), n)]
        return rows

    def _facts(self, step: Step, count: int) -> tuple[list[int], list[Fraction], list[bool]]:
        """What is seen and paid, and whether it is over, for some states and each action."""
        obs, events, ended = (
            part.reshape(-1, *part.shape[2:])
            for part in (np.asarray(x)[:count] for x in (step.obs, step.events, step.terminated))
        )
        return [*map(self._shown, obs)], [*map(self._paid, events)], ended.astype(bool).tolist()

    def _batch(self, states: list[State]) -> tuple[State, Step]:
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
        answer, *others = (
            jax.tree.map(np.asarray, self._step(stacked, np.arange(len(self.actions)), key))
            for key in self._keys
        )
        for other in others:
            same = jax.tree.map(np.array_equal, answer, other)
            if not all(jax.tree.leaves(same)):
                raise BadInput(
                    f"a step of {type(self.env).__name__} is random: its key decides what happens, "
                    "and one key must not be taken for all; only worlds whose steps are decided by "
                    "state and action are enumerated"
                )
        return answer

    def _paid(self, events: np.ndarray) -> Fraction:
        what = events.tobytes()
        if what not in self._amounts:  # there are few different ones
            happened = zip(self.prices, events, strict=True)
            amounts = (p * meant_by(float(e)) for p, e in happened if p and e)
            self._amounts[what] = sum(amounts, Fraction(0))
        return self._amounts[what]

    def _shown(self, obs: np.ndarray) -> int:
        return self.number(int(obs) if obs.ndim == 0 else obs.tobytes())


def _split(batch: State, depth: int, count: int | None = None) -> list[State]:
    """One by one; the first so many."""
    leaves, form = jax.tree.flatten(batch)
    flat = [leaf.reshape(-1, *leaf.shape[depth:])[:count] for leaf in leaves]
    return [form.unflatten([leaf[i] for leaf in flat]) for i in range(len(flat[0]))]
