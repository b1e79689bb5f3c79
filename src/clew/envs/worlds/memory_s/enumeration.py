"""MiniGrid-MemoryS as a finite POMDP."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

import numpy as np

from clew.envs.enumeration import Enumeration
from clew.envs.worlds.memory_s.layout import BALL, KEY
from clew.envs.worlds.memory_s.world import CorridorState, MemoryS

OBJECTS = {KEY: "key", BALL: "ball"}


@dataclasses.dataclass(frozen=True)
class Poses(Enumeration[CorridorState]):
    """Objects and poses; every size is small enough to enumerate."""

    env: MemoryS

    def levels(self) -> Iterable[tuple[np.ndarray, Fraction]]:
        """Hallway length, place in it, and objects: each uniform."""
        tables = self.env.tables
        for length, count in enumerate(tables.n_starts):
            each = Fraction(1, len(tables.n_starts) * int(count) * 4)
            for start in range(int(count)):
                for row in tables.starts[length, start]:
                    yield np.asarray(row, np.int32), each

    def variables(self, state: CorridorState) -> Mapping[str, Hashable]:
        """Cue, which object is above, on which side the match is, and the pose."""
        tables, row = self.env.tables, int(state.row)
        layout = tables.layouts[int(tables.layout[row])]
        named: dict[str, Hashable] = {
            "cue": OBJECTS[layout.cue],
            "arrangement": f"{OBJECTS[layout.upper]} above",
            "side": "above" if layout.cue == layout.upper else "below",
            "pose": tuple(int(i) for i in tables.pose[row]),
        }
        return named | ({"length": int(layout.hallway_end)} if self.env.random_length else {})
