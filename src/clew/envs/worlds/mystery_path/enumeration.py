"""MysteryPath as a finite POMDP."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

import jax
import numpy as np

from clew.envs.enumeration import Enumeration, refuse_many
from clew.envs.worlds.mystery_path.law import LARGEST, LevelKey, level_law
from clew.envs.worlds.mystery_path.levels import Level
from clew.envs.worlds.mystery_path.world import MysteryPath, PathState
from clew.validate import whole_number

DRAWS = 20_000
QUICK_TO_COMPILE = {"xla_backend_optimization_level": 0}
HEADINGS = ("north", "west", "south", "east")


@dataclasses.dataclass(frozen=True)
class Paths(Enumeration[PathState]):
    """All levels with their probabilities on a small grid; on others, those of many draws."""

    env: MysteryPath
    visits: bool
    """Whether the reward depends on where the episode has been."""
    asked: int = 0
    """How often levels are to be drawn; 0 for what suits the grid."""

    def levels(self) -> Iterable[tuple[Level, Fraction]]:
        """Sorted, so that equal worlds give equal POMDPs."""
        law = self._drawn() if self.draws else level_law(self.env.size, self.env.origin_sides)
        least = sum(self._least_states(path - {goal}, path) for path, _, goal in law)
        refuse_many(least, f"{len(law):,} levels were found, which have at least {least:,} states")
        tiles = np.arange(self.env.size**2)
        for path, origin, goal in sorted(law, key=lambda one: (sorted(one[0]), one[1:])):
            level = Level(np.isin(tiles, list(path)), np.int32(origin), np.int32(goal))  # type: ignore[arg-type]
            yield level, law[path, origin, goal]

    def _least_states(self, walked: frozenset[int], path: frozenset[int]) -> int:
        """Of a level: on its path, with each heading, and on the tiles where it can be left."""
        side = self.env.size
        falls = {
            (step, beside)
            for tile in walked
            for step, beside in ((-side, tile - side), (side, tile + side),
                                 (-1, tile - 1 if tile % side else -1),
                                 (1, tile + 1 if (tile + 1) % side else -1))
            if 0 <= beside < side**2 and beside not in path
        }  # fmt: skip
        if self.env.actions == "cardinal":
            return len(walked) + len({beside for _, beside in falls})
        return 4 * len(walked) + len(falls)

    def _drawn(self) -> dict[LevelKey, Fraction]:
        """As often as they came."""
        keys = jax.random.split(jax.random.key(0), self.draws)
        # drawn once: to compile takes longer than to run
        draw = jax.jit(jax.vmap(self.env.level), compiler_options=QUICK_TO_COMPILE)
        drawn = jax.tree.map(np.asarray, draw(keys))
        counted = Counter(
            (frozenset(np.flatnonzero(path).tolist()), int(origin), int(goal))
            for path, origin, goal in zip(*drawn, strict=True)
        )
        return {level: Fraction(count, self.draws) for level, count in counted.items()}

    @property
    def draws(self) -> int:
        """None on a grid that is small enough for the generator's exact law, unless asked for."""
        return self.asked or (0 if self.env.size <= LARGEST else DRAWS)

    def with_draws(self, draws: int) -> Paths:
        """Fewer levels make fewer states, and a poorer likeness of the world."""
        return dataclasses.replace(self, asked=whole_number("draws", draws, 1, 10**6))

    @property
    def note(self) -> str:
        """Rare levels are missing, and the others are not equally likely."""
        said = f"levels were drawn {self.draws:,} times and count as often as they came; rare ones "
        return f"{said}are missing" if self.draws else ""

    def seen(self, symbol: int) -> str:
        """Where the agent stands, and which way it looks if it turns."""
        (tile, heading, crossed), origin, goal = self.env.images.read(symbol)
        words = [f"at {tile // self.env.size},{tile % self.env.size}"]
        if self.env.actions == "egocentric":
            words.append(f"facing {HEADINGS[heading]}")
        if crossed:
            words.append("fallen")
        for end, name in ((origin, "origin"), (goal, "goal")):
            if end is not None:
                words.append(f"{name} at {end // self.env.size},{end % self.env.size}")
        return " ".join(words)

    def variables(self, state: PathState) -> Mapping[str, Hashable]:
        """The path, the pose, and the tiles that were tested if the reward depends on them."""
        level = state.level
        named: dict[str, Hashable] = {
            "path": f"{int(level.origin)}→{int(level.goal)} by {_tiles(level.path.tobytes())}",
            "pose": (int(state.tile), int(state.heading), bool(state.off)),
        }
        return named | ({"tested": _tiles(state.tested.tobytes())} if self.visits else {})

    def smaller(self) -> Mapping[str, object]:
        """Three tiles along each side; what was tested multiplies the states."""
        fewer = {"actions": "cardinal", "origin_sides": (0,)} if self.visits else {}
        return {"size": 3, **fewer}


@lru_cache(100_000)
def _tiles(mask: bytes) -> str:
    return " ".join(map(str, np.flatnonzero(np.frombuffer(mask, bool))))
