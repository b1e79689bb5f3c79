"""The rewards of a `.POMDP` file: rules with wildcards, of which the last that fits counts.

The table itself has actions × states × states × observations cells and is never laid out.
"""

from __future__ import annotations

from fractions import Fraction

Cell = tuple[int, int, int, int]
"""Action, state, next state, observation."""
Pattern = tuple[int | None, int | None, int | None, int | None]
"""A cell of which some parts may be anything."""


class Rewards:
    """Rules, later ones before earlier ones; a cell without a rule pays 0."""

    def __init__(self) -> None:
        self._rules: dict[Pattern, tuple[int, Fraction]] = {}
        self._shapes: dict[tuple[bool, ...], None] = {}
        self._count = 0

    def add(self, pattern: Pattern, value: Fraction) -> None:
        """A new rule, which overrides the older ones wherever it fits."""
        self._count += 1
        self._rules[pattern] = (self._count, value)
        self._shapes[tuple(part is not None for part in pattern)] = None

    def __call__(self, cell: Cell) -> Fraction:
        """What `cell` pays. There are at most sixteen shapes of pattern, so few look-ups."""
        newest, reward = 0, Fraction(0)
        for shape in self._shapes:
            a, s, t, o = (part if fixed else None for part, fixed in zip(cell, shape, strict=True))
            age, value = self._rules.get((a, s, t, o), (0, reward))
            if age > newest:
                newest, reward = age, value
        return reward
