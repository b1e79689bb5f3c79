"""Worlds of `clew.envs`, stepped many at a time. (It imports jax: import it late.)"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from clew.envs.base import Environment, Step
from clew.machines.exact.numbers import meant_by, rational
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import LIMIT, First, Latent, Taken, walk

BATCH = 256


def from_world(
    env: Environment,
    latent: Latent,
    levels: Iterable[tuple[Any, Any]],
    *,
    reward: str | Mapping[str, float] = "sparse",
    discount: Any = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate a world from its levels and their probabilities."""
    walker = JaxWalker(env, latent, env.prices(reward))
    weighted = [(level, rational("probability of a level", p)) for level, p in levels]
    return walk(walker, walker.start(weighted), discount, limit, name)


class JaxWalker:
    """Starts and steps of a world."""

    def __init__(self, env: Environment, latent: Latent, prices: np.ndarray):
        self.env, self.latent = env, latent
        self.prices = [meant_by(float(price)) for price in prices]
        self.actions = env.action_names
        self.longest = env.horizon - 1
        self.names: tuple[str, ...] = ()
        self.seen: dict[Hashable, int] = {}
        key = jax.random.key(0)
        every = jax.vmap(lambda state, action: env.step(state, action, key), (None, 0))
        self._step = jax.jit(jax.vmap(every, (0, None)))

    def start(self, levels: Sequence[tuple[Any, Fraction]]) -> list[First]:
        """Begin an episode in each level."""
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(level for level, _ in levels))
        states, shown = jax.tree.map(np.asarray, jax.vmap(self.env.start)(stacked))
        return [
            First(self._key(state), state, self._number(shown[i]), levels[i][1])
            for i, state in enumerate(_split(states, 1))
        ]

    def step(self, states: Sequence[Any]) -> tuple[list[tuple[Taken, ...]], list[list[Any]]]:
        """What every action does to each state, and the states after."""
        taken, landed = [], []
        for first in range(0, len(states), BATCH):
            some = states[first : first + BATCH]
            # always as many at a time, so that one program is compiled
            after, step = self._batch([*some, *[some[0]] * (BATCH - len(some))])
            n = len(self.actions)
            flat = _split(after, 2)
            for i in range(len(some)):
                row = flat[i * n : (i + 1) * n]
                landed.append(row)
                taken.append(tuple(self._taken(row[a], step, i, a) for a in range(n)))
        return taken, landed

    def _batch(self, states: list[Any]) -> tuple[Any, Step]:
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
        answer = self._step(stacked, np.arange(len(self.actions)))
        return jax.tree.map(np.asarray, answer)

    def _taken(self, state: Any, step: Step, i: int, a: int) -> Taken:
        return Taken(
            self._key(state),
            self._number(np.asarray(step.obs)[i, a]),
            self._paid(np.asarray(step.events)[i, a]),
            bool(step.terminated[i, a]),
        )

    def _key(self, state: Any) -> tuple[Hashable, ...]:
        variables = self.latent(state)
        self.names = self.names or tuple(variables)
        return tuple(variables.values())

    def _paid(self, events: np.ndarray) -> Fraction:
        happened = zip(self.prices, events, strict=True)
        return sum((p * meant_by(float(e)) for p, e in happened if p and e), Fraction(0))

    def _number(self, obs: np.ndarray) -> int:
        symbol: Hashable = int(obs) if obs.ndim == 0 else obs.tobytes()
        return self.seen.setdefault(symbol, len(self.seen))


def _split(batch: Any, depth: int) -> list[Any]:
    leaves, form = jax.tree.flatten(batch)
    flat = [leaf.reshape(-1, *leaf.shape[depth:]) for leaf in leaves]
    return [form.unflatten([leaf[i] for leaf in flat]) for i in range(len(flat[0]))]
