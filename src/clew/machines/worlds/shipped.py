"""How the worlds of the study are enumerated: their levels, and what is hidden in them by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from clew.machines.worlds.enumerate import LIMIT, Enumeration, Latent
from clew.validate import BadInput

DRAWS = 20_000
VISITS = frozenset({"progress", "revisit"})
"""Events that hang on where the episode has been."""


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


ENUMERATIONS: Mapping[str, Enumeration] = {
    # all sizes are small enough
    "MemoryS": Enumeration(_memory_levels, _memory_latent, lambda env, priced: {}),
    "MysteryPath": Enumeration(_mystery_levels, _mystery_latent, _smaller_mystery),
    "TinyReproduce": Enumeration(
        _reproduce_levels,
        _reproduce_latent,
        lambda env, priced: {"k": min(env.k, 3), "v": min(env.v, 4)},
    ),
}
