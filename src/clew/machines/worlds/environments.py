"""An environment as a finite POMDP."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.enumerate import StateVariables
from clew.validate import BadInput, known_names

if TYPE_CHECKING:
    from gymnasium import Env

    from clew.envs import Environment


def from_env(
    env: str | Environment | Env, latent: StateVariables | None = None, **options: Any
) -> Pomdp:
    """Enumerate a world of `clew.envs`, by name or as an object, or a Gymnasium environment.

    `latent` maps a state to its named latent variables. A world with an `Environment.enumeration`
    brings its own, and its `levels`; others need them. `draws` is how often levels are drawn, where
    there are too many to take all. A Gymnasium environment may be named too
    (`gymnasium:ID`); its states are its attributes, or what `state="module:function"` says. See
    `jax_env.from_world` and `gym_env.from_gym` for the other options.
    """
    from clew import envs
    from clew.envs.registry import hosted

    if isinstance(env, str) and hosted(env):
        env, options, latent = _hosted(env, options, latent)
    if hasattr(env, "action_space"):
        from clew.machines.worlds.gym_env import from_gym

        return from_gym(env, latent, **options)  # type: ignore[arg-type]

    from clew.machines.worlds.jax_env import from_world

    world: Environment = envs.make(env) if isinstance(env, str) else env  # type: ignore[assignment]
    known = world.enumeration(priced_events(world, options.get("reward", "sparse")))
    notes: list[str] = []
    draws, asked = 0, options.pop("draws", None)
    if known is not None:
        known = known if asked is None else known.with_draws(asked)
        latent = latent or known.variables
        options.setdefault("words", known.seen)
        if "levels" not in options:
            options["levels"], draws = known.levels(), known.draws
            notes += [known.note] if known.note else []
    if latent is None or "levels" not in options:
        raise BadInput(
            f"{type(world).__name__} needs latent=… and levels=…, as it has no enumeration of "
            "its own"
        )
    options.setdefault("name", repr(world))
    try:
        pomdp = from_world(world, latent, **options)
    except BadInput as error:
        if draws > FEW_DRAWS and "smaller world" in str(error):
            raise BadInput(f"{error}, or draw fewer levels, such as draws={FEW_DRAWS}") from None
        raise
    if outlasts(pomdp, world.horizon):
        notes.append(f"the time limit of {world.horizon:,} steps is left out")
    return dataclasses.replace(pomdp, notes=(*pomdp.notes, *notes), draws=draws)


def outlasts(pomdp: Pomdp, steps: int) -> bool:
    """Whether an episode can go on for more than so many steps."""
    now = {begin.state for begin in pomdp.start}
    seen: set[frozenset[int]] = set()
    for _ in range(steps):
        key = frozenset(now)
        if key in seen:
            return True
        seen.add(key)
        now = {b.state for s in now for row in pomdp.steps[s] for b in row} - pomdp.terminal
        if not now:
            return False
    return True


FEW_DRAWS = 300
"""Levels with which a MysteryPath of 5×5 is decided in about 12 s."""
READING = ("seeds", "reward", "discount", "limit", "name")
"""Options of `from_gym`; all others are the environment's own."""
TRAINING = ("success_return", "success_key", "obs_scale", "latents", "vector", "max_episode_steps")
"""Options of `clew.envs.hosted.host` that change nothing of what is decided."""


def _hosted(
    name: str, options: dict[str, Any], latent: StateVariables | None
) -> tuple[Env, dict[str, Any], StateVariables | None]:
    """A Gymnasium environment by name, how to read it, and what its states are."""
    if importlib.util.find_spec("gymnasium") is None:
        raise BadInput(f"{name!r} needs gymnasium, which is not installed: pip install 'clew[gym]'")
    from clew.envs.hosted.recipe import Recipe, imported

    reading = {key: options[key] for key in READING if key in options}
    rest = {key: options[key] for key in options if key not in (*READING, *TRAINING)}
    state, knowledge = rest.pop("state", None), rest.pop("knowledge", None)
    wrappers, keys = (_listed(rest.pop(key, ())) for key in ("wrappers", "keys"))
    recipe = Recipe(name, tuple(sorted(rest.items())), wrappers)
    env = recipe()
    if "rgb_array" in env.metadata.get("render_modes", ()) and env.render_mode is None:
        with contextlib.suppress(BadInput):  # a function need not take it
            env = recipe("rgb_array")
    if keys or knowledge:
        env = _seen(name, env, keys, knowledge)
    return env, reading, imported(str(state)) if state is not None else latent


def _listed(value: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)


def _seen(name: str, env: Env, keys: Sequence[str], knowledge: str | None) -> Env:
    """With the parts of a Dict observation that an agent sees."""
    from gymnasium.spaces import Dict
    from gymnasium.wrappers import FilterObservation

    parts = list(env.observation_space) if isinstance(env.observation_space, Dict) else []
    known_names(f"key of the observations of {name}", (*keys, *_listed(knowledge or ())), parts)
    return FilterObservation(env, [key for key in keys or parts if key != knowledge])


def smaller(env: Environment, reward: str | Mapping[str, float]) -> Mapping[str, object]:
    """Options for the same world, smaller; none for a world that cannot be read."""
    known = env.enumeration(priced_events(env, reward))
    return known.smaller() if known else {}


def priced_events(world: Environment, reward: str | Mapping[str, float]) -> Set[str]:
    """The events that a reward pays for, or takes something for."""
    paid = zip(world.event_names, world.prices(reward), strict=True)
    return {event for event, price in paid if price}
