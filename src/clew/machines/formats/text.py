"""Where in a text something stands, and errors that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clew.validate import BadInput

SHOWN = 40
"""Characters of an offending token that an error message repeats."""


class Place(NamedTuple):
    """A position in a text; both count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def place_at(text: str, position: int) -> Place:
    """The line and column of a character; lines end in LF, CR or both."""
    before = text[:position]
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    ends = before.count("\n") + before.count("\r") - before.count("\r\n")
    return Place(ends + 1, position - start + 1)


class ParseError(BadInput):
    """Text that is not a model: where the mistake is, what stands there, what should."""

    def __init__(self, message: str, place: Place, token: str | None = None, expected: str = ""):
        self.message, self.place, self.token, self.expected = message, place, token, expected
        found = "" if token is None else f"; found {shown(token)}"
        wanted = f"; expected {expected}" if expected else ""
        super().__init__(f"{place}: {message}{found}{wanted}")

    @property
    def line(self) -> int:
        """The line of the mistake, from 1."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column of the mistake, from 1."""
        return self.place.column


def shown(token: str) -> str:
    """A token as an error message repeats it: quoted, cut short, and the end named."""
    if not token:
        return "the end of the file"
    return repr(token if len(token) <= SHOWN else token[: SHOWN - 1] + "…")


@dataclass(frozen=True)
class Limits:
    """Sizes above which a file is refused, with its size, before memory is spent on it."""

    file_bytes: int = 16 * 2**20
    """Size of the file."""
    rows: int = 1_000_000
    """Rows of T, one for each state and action; and states, actions and observations in all."""
    cells: int = 4_000_000
    """Cells other than zero that all statements of a `.POMDP` file set, each as often as it is."""
    branches: int = 4_000_000
    """All branches of all steps: next states and observations of positive probability."""
    labels: int = 1_000_000
    """States of a machine times the labels that its propositions make."""
    depth: int = 32
    """Nesting of a JSON file."""
    renormalise: bool = False
    """Divide the probabilities of a `.POMDP` row by their sum where that is off by rounding."""

    def of_file(self, name: str, size: int) -> None:
        """Refuse a file of too many bytes."""
        if size > self.file_bytes:
            raise BadInput(f"{name} has {size:,} bytes; {self._advice('file_bytes')}")

    def of_tables(self, place: Place, states: int, actions: int, observations: int) -> None:
        """Refuse a model of too many states, actions and observations."""
        self.check("rows", max(states * actions, states + actions + observations), place, (
            f"{states:,} states, {actions:,} actions and {observations:,} observations are too many"
        ))  # fmt: skip

    def check(self, which: str, size: int, place: Place, message: str) -> None:
        """Refuse what is larger than the limit called `which`."""
        if size > getattr(self, which):
            raise ParseError(f"{message} ({size:,} {which}); {self._advice(which)}", place)

    def _advice(self, which: str) -> str:
        return f"at most {getattr(self, which):,} are read (set {which} in Limits to read more)"


LIMITS = Limits()
