"""MysteryPath as a finite POMDP."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

import jax
import numpy as np
from jaxtyping import Array, Bool

from clew.envs.enumeration import Enumeration, refuse_many
from clew.envs.worlds.mystery_path.levels import Level
from clew.envs.worlds.mystery_path.world import MysteryPath, PathState

DRAWS = 20_000


@dataclasses.dataclass(frozen=True)
class Paths(Enumeration[PathState]):
    """The levels that occur in many draws, taken to be equally likely."""

    env: MysteryPath
    visits: bool
    """Whether the reward depends on where the episode has been."""

    def levels(self) -> Iterable[tuple[Level, Fraction]]:
        """Sorted, so that equal worlds give equal POMDPs."""
        keys = jax.random.split(jax.random.key(0), DRAWS)
        drawn = jax.tree.map(np.asarray, jax.jit(jax.vmap(self.env.level))(keys))
        found = {
            (path.tobytes(), int(origin), int(goal)): Level(path, origin, goal)
            for path, origin, goal in zip(*drawn, strict=True)
        }
        # a path crosses the grid, and the agent may face four ways
        least = len(found) * self.env.size * (1 if self.env.actions == "cardinal" else 4)
        refuse_many(
            least, f"{len(found):,} levels were drawn, which have at least {least:,} states"
        )
        for key in sorted(found):
            yield found[key], Fraction(1, len(found))

    @property
    def note(self) -> str:
        """Rare levels are missing, and the others are not equally likely."""
        return f"on sampled levels: those that occur in {DRAWS:,} draws, taken as equally likely"

    def variables(self, state: PathState) -> Mapping[str, Hashable]:
        """The path, the pose, and the tiles that were tested if the reward depends on them."""
        level = state.level
        named: dict[str, Hashable] = {
            "path": f"{int(level.origin)}→{int(level.goal)} by {_tiles(level.path)}",
            "pose": (int(state.tile), int(state.heading), bool(state.off)),
        }
        return named | ({"tested": _tiles(state.tested)} if self.visits else {})

    def smaller(self) -> Mapping[str, object]:
        """Three tiles along each side; what was tested multiplies the states."""
        fewer = {"actions": "cardinal", "origin_sides": (0,)} if self.visits else {}
        return {"size": 3, **fewer}


def _tiles(mask: Bool[Array, " tile"]) -> str:
    return " ".join(map(str, np.flatnonzero(mask)))
