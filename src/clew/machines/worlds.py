"""The worlds of the study: their levels, and names for what is hidden in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.machines.enumerate import LIMIT
from clew.machines.pomdp import Pomdp
from clew.validate import BadInput, listing

if TYPE_CHECKING:
    from clew.machines.enumerate import Latent

DRAWS = 20_000
VISITS = frozenset({"progress", "revisit"})
"""Events that hang on where the episode has been."""


class Reading(NamedTuple):
    """How a world is enumerated: its levels with their probabilities, and its variables."""

    levels: Callable[[Any], Iterable[tuple[Any, Fraction]]]
    latent: Callable[[Any, Set[str]], Latent]
    """Given the events that the reward prices: some of them read what the episode visited."""
    smaller: Callable[[Any, Set[str]], Mapping[str, Any]]
    """Options that make a world of the same kind, small enough to be enumerated."""


def from_env(env: Any, latent: Latent | None = None, **options: Any) -> Pomdp:
    """Enumerate a world of `clew.envs`, by name or as an object, or a Gymnasium environment.

    The three worlds of the study bring their own `latent` and `levels`; others need them. See
    `jax_worlds.from_world` and `gym_worlds.from_gym` for the other options.
    """
    if hasattr(env, "action_space"):
        from clew.machines.gym_worlds import from_gym

        if latent is None:
            raise BadInput(f"{env} needs latent=…, a function from it to its latent variables")
        return from_gym(env, latent, **options)

    from clew import envs
    from clew.machines.jax_worlds import from_world

    world = envs.make(env) if isinstance(env, str) else env
    reading = READINGS.get(type(world).__name__)
    if reading is not None:
        latent = latent or reading.latent(world, _priced(world, options.get("reward", "sparse")))
        options.setdefault("levels", reading.levels(world))
    if latent is None or "levels" not in options:
        raise BadInput(
            f"{type(world).__name__} needs latent=… and levels=…; only {listing(READINGS)} "
            "bring their own"
        )
    options.setdefault("name", repr(world))
    return from_world(world, latent, **options)


def smaller(env: Any, reward: str | Mapping[str, float]) -> Mapping[str, Any]:
    """Options for the same world, smaller; none for a world that is not of the study."""
    reading = READINGS.get(type(env).__name__)
    return reading.smaller(env, _priced(env, reward)) if reading else {}


def _priced(world: Any, reward: Any) -> Set[str]:
    paid = zip(world.event_names, world.prices(reward), strict=True)
    return {event for event, price in paid if price}


def _memory_levels(env: Any) -> Iterable[tuple[Any, Fraction]]:
    """Hallway length, place in it, and objects: each uniform."""
    tables = env.tables
    for length, count in enumerate(tables.n_starts):
        each = Fraction(1, len(tables.n_starts) * int(count) * 4)
        for start in range(int(count)):
            for row in tables.starts[length, start]:
                yield np.int32(row), each


def _memory_latent(env: Any, priced: Set[str]) -> Latent:
    """Cue, which object is above, on which side the match is, and the pose."""
    tables = env.tables

    def latent(state: Any) -> Mapping[str, Hashable]:
        row = int(state.row)
        layout = tables.layouts[int(tables.layout[row])]
        objects = {2: "key", 3: "ball"}
        named: dict[str, Hashable] = {
            "cue": objects[layout.cue],
            "arrangement": f"{objects[layout.upper]} above",
            "side": "above" if layout.cue == layout.upper else "below",
            "pose": tuple(int(i) for i in tables.pose[row]),
        }
        if env.random_length:
            named["length"] = int(layout.hallway_end)
        return named

    return latent


def _reproduce_levels(env: Any) -> Iterable[tuple[Any, Fraction]]:
    _refuse_many(env.v**env.k, f"there are {env.v}^{env.k} = {env.v**env.k:,} sequences")
    for tokens in product(range(env.v), repeat=env.k):
        yield np.array(tokens, np.int32), Fraction(1, env.v**env.k)


def _reproduce_latent(env: Any, priced: Set[str]) -> Latent:
    return lambda state: {
        "sequence": tuple(int(token) for token in state.sequence),
        "time": int(state.t),
        "right": int(state.n_correct),
    }


def _mystery_levels(env: Any) -> Iterable[tuple[Any, Fraction]]:
    """The levels that occur in many draws, taken to be equally likely."""
    import jax

    drawn = jax.jit(jax.vmap(env.level))(jax.random.split(jax.random.key(0), DRAWS))
    paths, origins, goals = (np.asarray(part) for part in drawn)
    found = {
        (path.tobytes(), int(origin), int(goal)): i
        for i, (path, origin, goal) in enumerate(zip(paths, origins, goals, strict=True))
    }
    # a path crosses the grid, and the agent may face four ways
    least = len(found) * env.size * (1 if env.actions == "cardinal" else 4)
    _refuse_many(least, f"{len(found):,} levels were drawn, which have at least {least:,} states")
    for key in sorted(found):
        level = jax.tree.map(lambda leaf, i=found[key]: np.asarray(leaf)[i], drawn)
        yield level, Fraction(1, len(found))


def _mystery_latent(env: Any, priced: Set[str]) -> Latent:
    def latent(state: Any) -> Mapping[str, Hashable]:
        level = state.level
        named: dict[str, Hashable] = {
            "path": f"{int(level.origin)}→{int(level.goal)} by {_tiles(level.path)}",
            "pose": (int(state.tile), int(state.heading), bool(state.off)),
        }
        if priced & VISITS:
            named["tested"] = _tiles(state.tested)
        return named

    return latent


def _refuse_many(count: int, said: str) -> None:
    if count > LIMIT:
        raise BadInput(f"{said}; at most {LIMIT:,} are enumerated, so choose a smaller world")


def _tiles(mask: Any) -> str:
    return " ".join(map(str, np.flatnonzero(mask)))


def _smaller_mystery(env: Any, priced: Set[str]) -> Mapping[str, Any]:
    if priced & VISITS:
        return {"size": 3, "actions": "cardinal", "origin_sides": (0,)}
    return {"size": 3}


READINGS: Mapping[str, Reading] = {
    # all sizes are small enough
    "MemoryS": Reading(_memory_levels, _memory_latent, lambda env, priced: {}),
    "MysteryPath": Reading(_mystery_levels, _mystery_latent, _smaller_mystery),
    "TinyReproduce": Reading(
        _reproduce_levels,
        _reproduce_latent,
        lambda env, priced: {"k": min(env.k, 3), "v": min(env.v, 4)},
    ),
}
