"""Where in a text something stands, and errors that say so."""

from __future__ import annotations

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


class ParseError(BadInput):
    """Text that is no model: where it stops being one, what stands there, what should."""

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
