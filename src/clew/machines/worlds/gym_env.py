"""Small Gymnasium environments, by copying them before every step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from clew.envs.enumeration import LIMIT
from clew.machines.exact.numbers import NumberLike, rational
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import First, StateVariables, Taken, Walker, walk
from clew.validate import BadInput

if TYPE_CHECKING:
    from gymnasium import Env


def from_gym(
    env: Env,
    variables: StateVariables[Env],
    *,
    seeds: Sequence[int] = (0,),
    discount: NumberLike = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate an environment from the episodes that some seeds begin, each as likely.

    `variables` maps the environment (unwrapped) to its named latent variables. It must be possible
    to copy the environment, and a step must depend on the state and the action alone.
    """
    if not seeds:
        raise BadInput("seeds=() is not valid; give at least one")
    walker = GymWalker(env, variables)
    begins = [walker.begin(seed, Fraction(1, len(seeds))) for seed in seeds]
    return walk(walker, begins, discount, limit, name or str(env))


class GymWalker(Walker["Env"]):
    """A state is a copy of the environment."""

    def __init__(self, env: Env, variables: StateVariables[Env]):
        count = getattr(getattr(env, "action_space", None), "n", None)
        if count is None:
            raise BadInput(f"{env} has no finite set of actions; its action space must be Discrete")
        spec = getattr(env, "spec", None)
        longest = (getattr(spec, "max_episode_steps", None) or 10**6) - 1
        actions = tuple(f"a{i}" for i in range(int(count)))
        super().__init__(lambda copy: variables(copy.unwrapped), actions, longest)
        self.env = env
        self.first = int(getattr(env.action_space, "start", 0))

    def begin(self, seed: int, probability: Fraction) -> First[Env]:
        """The episode that a seed begins."""
        env = deepcopy(self.env)
        obs, _ = env.reset(seed=seed)
        return First(self.key(env), env, self.number(_symbol(obs)), probability)

    def step(self, states: Sequence[Env]) -> list[list[tuple[Taken, Env]]]:
        """What every action does to each state, and the state after."""
        return [[self._taken(deepcopy(env), a) for a in range(len(self.actions))] for env in states]

    def _taken(self, env: Env, action: int) -> tuple[Taken, Env]:
        obs, reward, terminated, _, _ = env.step(self.first + action)
        paid = rational("reward", reward)
        return Taken(self.key(env), self.number(_symbol(obs)), paid, bool(terminated)), env


def _symbol(obs: object) -> Hashable:
    """Something that equal observations share."""
    if isinstance(obs, dict):
        return tuple((name, _symbol(part)) for name, part in sorted(obs.items()))
    if isinstance(obs, tuple | list):
        return tuple(map(_symbol, obs))
    array = np.asarray(obs)
    if array.ndim == 0 and array.dtype.kind in "iub":
        return int(array)
    return array.tobytes() if array.dtype.kind in "iubf" else str(obs)
