"""Small Gymnasium environments, by copying them before every step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Any

import numpy as np

from clew.machines.exact.numbers import rational
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import LIMIT, First, Latent, Taken, walk
from clew.validate import BadInput


def from_gym(
    env: Any,
    latent: Latent,
    *,
    seeds: Sequence[int] = (0,),
    discount: Any = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate an environment from the episodes that some seeds begin, each as likely.

    `latent` maps the environment (unwrapped) to its named latent variables. It must be possible
    to copy the environment, and a step must depend on the state and the action alone.
    """
    if not seeds:
        raise BadInput("seeds=() is not valid; give at least one")
    walker = GymWalker(env, latent)
    begins = [walker.begin(seed, Fraction(1, len(seeds))) for seed in seeds]
    return walk(walker, begins, discount, limit, name or str(env))


class GymWalker:
    """A state is a copy of the environment."""

    def __init__(self, env: Any, latent: Latent):
        count = getattr(getattr(env, "action_space", None), "n", None)
        if count is None:
            raise BadInput(f"{env} has no finite set of actions; its action space must be Discrete")
        self.env, self.latent = env, latent
        spec = getattr(env, "spec", None)
        self.longest = (getattr(spec, "max_episode_steps", None) or 10**6) - 1
        self.actions = tuple(f"a{i}" for i in range(int(count)))
        self.first = int(getattr(env.action_space, "start", 0))
        self.names: tuple[str, ...] = ()
        self.seen: dict[Hashable, int] = {}

    def begin(self, seed: int, probability: Fraction) -> First:
        """The episode that a seed begins."""
        env = deepcopy(self.env)
        obs, _ = env.reset(seed=seed)
        return First(self._key(env), env, self._number(obs), probability)

    def step(self, states: Sequence[Any]) -> tuple[list[tuple[Taken, ...]], list[list[Any]]]:
        """What every action does to each state, and the states after."""
        taken, landed = [], []
        for state in states:
            row, after = [], []
            for action in range(len(self.actions)):
                env = deepcopy(state)
                obs, reward, terminated, _, _ = env.step(self.first + action)
                paid = rational("reward", reward)
                row.append(Taken(self._key(env), self._number(obs), paid, bool(terminated)))
                after.append(env)
            taken.append(tuple(row))
            landed.append(after)
        return taken, landed

    def _key(self, env: Any) -> tuple[Hashable, ...]:
        variables = self.latent(env.unwrapped)
        self.names = self.names or tuple(variables)
        return tuple(variables.values())

    def _number(self, obs: Any) -> int:
        return self.seen.setdefault(_symbol(obs), len(self.seen))


def _symbol(obs: Any) -> Hashable:
    """Something that equal observations share."""
    if isinstance(obs, dict):
        return tuple((name, _symbol(part)) for name, part in sorted(obs.items()))
    if isinstance(obs, tuple | list):
        return tuple(map(_symbol, obs))
    array = np.asarray(obs)
    if array.ndim == 0 and array.dtype.kind in "iub":
        return int(array)
    return array.tobytes() if array.dtype.kind in "iubf" else str(obs)
