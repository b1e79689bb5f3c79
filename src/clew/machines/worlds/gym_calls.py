"""What is asked of a Gymnasium environment: its actions one by one, copies, resets and steps.

What the environment raises itself becomes a sentence that says where.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium import spaces

from clew.envs.hosted.spaces import MOST_ACTIONS, space_words
from clew.machines.worlds.chance import CannotEnumerateError
from clew.machines.worlds.gym_words import symbol
from clew.validate import BadInput, error_place, error_words

if TYPE_CHECKING:
    from gymnasium import Env


class Stepped(NamedTuple):
    """What a step returns."""

    obs: Any
    reward: float
    terminated: bool
    truncated: bool


class Actions(NamedTuple):
    """By their numbers: what they are called, and what a step takes."""

    names: tuple[str, ...]
    taken: tuple[Any, ...]


def actions_of(env: Env) -> Actions:
    """All of a Discrete space, and every combination of a MultiDiscrete or MultiBinary one."""
    space = env.action_space
    if isinstance(space, spaces.Discrete):
        _refuse_many(space, int(space.n))
        first = int(space.start)
        numbers = tuple(range(first, first + int(space.n)))
        named = _enumeration(env)
        return Actions(tuple(named.get(n, f"a{n}") for n in numbers), numbers)
    if isinstance(space, spaces.MultiDiscrete):
        sizes, start = space.nvec, np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
    elif isinstance(space, spaces.MultiBinary):
        sizes = np.full(space.shape, 2)
        start = np.zeros_like(sizes)
    else:
        raise BadInput(
            f"the actions are {space_words(space)}, which cannot be tried one by one; wrap the "
            "environment to offer Discrete, MultiDiscrete or MultiBinary ones"
        )
    _refuse_many(space, math.prod(sizes.ravel().tolist()))
    every = list(product(*map(range, sizes.ravel().tolist())))
    taken = tuple((np.reshape(one, sizes.shape) + start).astype(space.dtype) for one in every)
    return Actions(tuple(",".join(map(str, one.ravel().tolist())) for one in taken), taken)


def _refuse_many(space: spaces.Space, total: int) -> None:
    if total > MOST_ACTIONS:
        raise BadInput(
            f"the actions are {space_words(space)}, {total:,} of them, and each is tried in every "
            f"state; wrap the environment to offer at most {MOST_ACTIONS:,}"
        )


def copied(env: Env) -> Env:
    """With all that is in it."""
    with its_own("the deep copy of the environment"):
        return copy.deepcopy(env)


def reset(env: Env, seed: int | None = None) -> Any:
    """The first observation of an episode."""
    with its_own("the environment's reset"):
        obs, _ = env.reset(seed=seed)
        symbol(obs)  # a uniform number that was drawn and not compared has none
        return obs


def step(env: Env, action: Any) -> Stepped:
    """What an action leads to."""
    with its_own("the environment's step"):
        taken = copy.deepcopy(action)  # an environment may write into an array
        obs, reward, terminated, truncated, _ = env.step(taken)
        symbol(obs)
        if not math.isfinite(float(reward)):
            raise BadInput(
                f"the environment's step paid {float(reward)}, which is no finite reward"
            )
        return Stepped(obs, float(reward), bool(terminated), bool(truncated))


@contextmanager
def its_own(what: str) -> Iterator[None]:
    """What the environment's own code raises is said in a sentence, with the line it comes from."""
    try:
        yield
    except (BadInput, CannotEnumerateError):
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"{what} raised {error_words(error)}{error_place(error)}") from error


def _enumeration(env: Env) -> dict[int, str]:
    """The names of an enumeration `actions`, if the environment has one."""
    return {
        int(each): str(each.name)
        for each in getattr(env.unwrapped, "actions", ()) or ()
        if hasattr(each, "name") and hasattr(each, "value")
    }
