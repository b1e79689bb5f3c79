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
SIGNS = dict(enumerate("?.w", 0)) | {5: "k", 6: "b"}
"""By MiniGrid's code of the object."""


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

    def seen(self, symbol: int) -> str:
        """The view, row by row from far to near, with the agent in the middle of the last."""
        codes = np.asarray(self.env.alphabet[symbol])[..., : max(SIGNS) + 1].argmax(-1).T
        rows = [[SIGNS[int(code)] for code in row] for row in codes]
        rows[-1][len(codes) // 2] = "^"
        return "/".join("".join(row) for row in rows)

    @property
    def note(self) -> str:
        """What the signs of a view mean."""
        return "views, row by row: ^ the agent, w wall, . floor, k key, b ball, ? not seen"
