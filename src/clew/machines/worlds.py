"""The worlds of the study: their levels, and names for what is hidden in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.machines.pomdp import Pomdp
from clew.validate import BadInput, listing

if TYPE_CHECKING:
    from clew.machines.enumerate import Latent

DRAWS = 20_000


class Reading(NamedTuple):
    """How a world is enumerated: its levels with their probabilities, and its variables."""

    levels: Callable[[Any], Iterable[tuple[Any, Fraction]]]
    latent: Callable[[Any], Latent]


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
        latent = latent or reading.latent(world)
        options.setdefault("levels", reading.levels(world))
    if latent is None or "levels" not in options:
        raise BadInput(
            f"{type(world).__name__} needs latent=… and levels=…; only {listing(READINGS)} "
            "bring their own"
        )
    options.setdefault("name", repr(world))
    return from_world(world, latent, **options)


def _memory_levels(env: Any) -> Iterable[tuple[Any, Fraction]]:
    """Hallway length, place in it, and objects: each uniform."""
    tables = env.tables
    for length, count in enumerate(tables.n_starts):
        each = Fraction(1, len(tables.n_starts) * int(count) * 4)
        for start in range(int(count)):
            for row in tables.starts[length, start]:
                yield np.int32(row), each


def _memory_latent(env: Any) -> Latent:
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
    for tokens in product(range(env.v), repeat=env.k):
        yield np.array(tokens, np.int32), Fraction(1, env.v**env.k)


def _reproduce_latent(env: Any) -> Latent:
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
    for key in sorted(found):
        level = jax.tree.map(lambda leaf, i=found[key]: np.asarray(leaf)[i], drawn)
        yield level, Fraction(1, len(found))


def _mystery_latent(env: Any) -> Latent:
    def latent(state: Any) -> Mapping[str, Hashable]:
        level = state.level
        tiles = "".join(map(str, np.flatnonzero(level.path)))
        return {
            "path": f"{int(level.origin)}→{int(level.goal)} by {tiles}",
            "pose": (int(state.tile), int(state.heading), bool(state.off)),
        }

    return latent


READINGS: Mapping[str, Reading] = {
    "MemoryS": Reading(_memory_levels, _memory_latent),
    "MysteryPath": Reading(_mystery_levels, _mystery_latent),
    "TinyReproduce": Reading(_reproduce_levels, _reproduce_latent),
}
