"""The options of a Gymnasium environment, whatever its name."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from clew.validate import BadInput

UNSTATED = 2**31 - 1
"""Steps of an episode that nobody limits."""

if TYPE_CHECKING:
    from clew.envs.hosted.environment import HostedEnvironment


class NoTimeLimit(BadInput):
    """Nothing says when an episode ends at the latest."""


def host(
    name: str,
    /,
    success_return: float | None = None,
    success_key: str | None = None,
    max_episode_steps: int | None = None,
    wrappers: Sequence[str] = (),
    keys: Sequence[str] = (),
    obs_scale: float | None = None,
    knowledge: str | None = None,
    latents: Sequence[str] = (),
    vector: Literal["sync", "async"] = "sync",
    **options: object,
) -> HostedEnvironment:
    """A Gymnasium environment, which steps on the host.

    It is named `gymnasium:ID`, or `module:function` of a function that returns one. Options that
    are not listed are handed to `gymnasium.make`, or to the function.

    Args:
        success_return: The return from which on an episode counts as a success.
        success_key: The key of `info` that says so at the end of an episode. If neither is given,
            `is_success` or `success`, else the return that is registered as `reward_threshold`.
        max_episode_steps: The time limit. If not given, the environment's own.
        wrappers: Each as module:wrapper, applied in this order.
        keys: The parts of a Dict observation that an agent sees. If not given, all.
        obs_scale: What observations are divided by. If not given, the largest bound of integers,
            such as 255, and 1 for all else.
        knowledge: The part of a Dict observation that holds what a perfect memory would know. Only
            the architecture Given sees it.
        latents: Keys of `info` with whole numbers, which probes ask the memory about.
        vector: Whether copies step one after the other, or each in a process of its own. It changes
            no result.
    """
    if importlib.util.find_spec("gymnasium") is None:
        raise BadInput(f"{name!r} needs gymnasium, which is not installed: pip install 'clew[gym]'")
    from clew.envs.hosted.environment import HostedEnvironment
    from clew.envs.hosted.recipe import Recipe

    for field, value in (("wrappers", wrappers), ("keys", keys), ("latents", latents)):
        if isinstance(value, str) or not all(isinstance(each, str) for each in value):
            raise BadInput(f"{field}={value!r} is not valid; it must be a list of names")
    if knowledge is not None and not isinstance(knowledge, str):
        raise BadInput(
            f"knowledge={knowledge!r} is not valid; for {name} it is the key of the observation "
            "that holds what a perfect memory would know"
        )
    ordered = tuple(sorted(options.items()))
    return HostedEnvironment(
        recipe=Recipe(name, ordered, tuple(wrappers), max_episode_steps),
        success_return=success_return,
        success_key=success_key,
        keys=tuple(keys),
        obs_scale=obs_scale,
        knowledge_key=knowledge,
        latents=tuple(latents),
        vector=vector,
    )


def listable(name: str) -> HostedEnvironment:
    """With default options, to be described: also one without a time limit, which has to be stated.

    It cannot be trained on then.
    """
    try:
        return host(name)
    except NoTimeLimit:
        return host(name, max_episode_steps=UNSTATED)
