"""MiniGrid-MemoryS: where the agent may be, and which objects there may be."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from clew.envs.knowledge import Knowledge
from clew.envs.worlds.memory_s.layout import BALL, KEY
from clew.envs.worlds.memory_s.world import MemoryS

OBJECTS = {KEY: "key", BALL: "ball"}
HEADINGS = ("east", "south", "west", "north")


class Candidates(NamedTuple):
    """Every way the episode may have begun, and where it would have led by now."""

    row: Int[Array, " start"]
    possible: Bool[Array, " start"]
    """Whether it would have shown everything that was seen."""


@dataclasses.dataclass(frozen=True)
class Possible(Knowledge[Candidates]):
    """The exact filter over start states: of every variable, the values that are still possible."""

    env: MemoryS

    @property
    def names(self) -> tuple[str, ...]:
        """The cue, the object above the junction, the pose; x and a hallway's length that varies
        together."""
        return tuple(f"{name} may be {value}" for name, value in self._values)

    def start(self, obs: Int[Array, ""]) -> Candidates:
        """The start states that show this."""
        row = jnp.asarray(self._starts, jnp.int32)
        return self._those(row, self._shows(row, obs))

    def look(self, known: Candidates, action: Int[Array, ""], obs: Int[Array, ""]) -> Candidates:
        """Those that the episode would have ended in are out: it went on."""
        tables = self.env.tables
        ended = jnp.asarray(tables.success | tables.failure)[known.row]
        row = jnp.asarray(tables.next_state, jnp.int32)[known.row, action]
        return self._those(row, known.possible & ~ended & self._shows(row, obs))

    def array(self, known: Candidates, obs: Int[Array, ""]) -> Bool[Array, " fact"]:
        """Of each variable, the values that some possible candidate has."""
        return (jnp.asarray(self._facts)[known.row] & known.possible[:, None]).any(0)

    def _those(self, row: Int[Array, " start"], possible: Bool[Array, " start"]) -> Candidates:
        """The others are forgotten, so that equal histories leave equal memories."""
        return Candidates(jnp.where(possible, row, 0), possible)

    def _shows(self, row: Int[Array, " start"], obs: Int[Array, ""]) -> Bool[Array, " start"]:
        return jnp.asarray(self.env.tables.symbol, jnp.int32)[row] == obs

    @cached_property
    def _starts(self) -> Int[np.ndarray, " start"]:
        tables = self.env.tables
        every = zip(tables.starts, tables.n_starts, strict=True)
        return np.concatenate([some[:n].reshape(-1) for some, n in every])

    @cached_property
    def _variables(self) -> dict[str, list[object]]:
        """The value in each row of the table."""
        tables = self.env.tables
        layouts = [tables.layouts[number] for number in tables.layout]
        variables: dict[str, list[object]] = {
            "the cue": [OBJECTS[layout.cue] for layout in layouts],
            "the object above": [OBJECTS[layout.upper] for layout in layouts],
            "x": tables.pose[:, 0].tolist(),
            "y": tables.pose[:, 1].tolist(),
            "the heading": [HEADINGS[heading] for heading in tables.pose[:, 2]],
        }
        if self.env.random_length:
            # each by itself would say less: they depend on each other
            ends = [layout.hallway_end for layout in layouts]
            variables["x and the hallway's end"] = list(zip(variables.pop("x"), ends, strict=True))
        return variables

    @cached_property
    def _values(self) -> list[tuple[str, object]]:
        return [
            (name, value)
            for name, column in self._variables.items()
            for value in sorted(set(column), key=lambda value: (str(type(value)), value))
        ]

    @cached_property
    def _facts(self) -> Bool[np.ndarray, "state fact"]:
        columns = self._variables
        return np.array([[one == value for one in columns[name]] for name, value in self._values]).T
