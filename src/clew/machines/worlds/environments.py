"""An environment as a finite POMDP."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import Latent
from clew.machines.worlds.shipped import ENUMERATIONS
from clew.validate import BadInput, listing


def from_env(env: Any, latent: Latent | None = None, **options: Any) -> Pomdp:
    """Enumerate a world of `clew.envs`, by name or as an object, or a Gymnasium environment.

    The three worlds of the study bring their own `latent` and `levels`; others need them. See
    `jax_env.from_world` and `gym_env.from_gym` for the other options.
    """
    if hasattr(env, "action_space"):
        from clew.machines.worlds.gym_env import from_gym

        if latent is None:
            raise BadInput(f"{env} needs latent=…, a function from it to its latent variables")
        return from_gym(env, latent, **options)

    from clew import envs
    from clew.machines.worlds.jax_env import from_world

    world = envs.make(env) if isinstance(env, str) else env
    known = ENUMERATIONS.get(type(world).__name__)
    if known is not None:
        latent = latent or known.latent(world, _priced(world, options.get("reward", "sparse")))
        options.setdefault("levels", known.levels(world))
    if latent is None or "levels" not in options:
        raise BadInput(
            f"{type(world).__name__} needs latent=… and levels=…; only {listing(ENUMERATIONS)} "
            "bring their own"
        )
    options.setdefault("name", repr(world))
    return from_world(world, latent, **options)


def smaller(env: Any, reward: str | Mapping[str, float]) -> Mapping[str, Any]:
    """Options for the same world, smaller; none for a world that is not of the study."""
    known = ENUMERATIONS.get(type(env).__name__)
    return known.smaller(env, _priced(env, reward)) if known else {}


def _priced(world: Any, reward: Any) -> Set[str]:
    paid = zip(world.event_names, world.prices(reward), strict=True)
    return {event for event, price in paid if price}
