"""Text as it is drawn: runs of one style, and how much room they take."""

from __future__ import annotations

import re
from typing import NamedTuple

SIZE = 15.0
"""Of the letters, in the picture's units."""
LINE = 1.3
"""Height of a line, in letters."""
SUBSCRIPT = 0.72
"""Size of a subscript, in letters."""
_INDEXED = re.compile(r"([^\W\d_])(?:_([^\W_]{1,6})|(\d{1,3}))")
# Advance widths of a Times-like face, rounded up: viewers may have a wider one.
_NARROW, _WIDE = set("iljtfr.,:;'|!()[]{}/⟨⟩ ·"), set("mwMWOQGDH@%∧∨→")


class Run(NamedTuple):
    """Letters of one style: "roman", "italic" or "sub"."""

    text: str
    style: str = "roman"

    @property
    def width(self) -> float:
        """An estimate, on the safe side."""
        letters = sum(
            0.36 if c in _NARROW else 0.9 if c in _WIDE or c > "⺀" else 0.6 for c in self.text
        )
        return letters * SIZE * (SUBSCRIPT if self.style == "sub" else 1.0)


Line = tuple[Run, ...]


def width(line: Line) -> float:
    """How wide a line is."""
    return sum(run.width for run in line)


def state_name(name: str) -> Line:
    """A state's name: `u_A`, `u0` and the like get a subscript, the rest stays as it is."""
    match = _INDEXED.fullmatch(name)
    if match is None:
        return (Run(printable(name)),)
    return Run(match[1], "italic"), Run(match[2] or match[3], "sub")


def printable(text: str) -> str:
    """Text without characters that no drawing can hold, such as line ends."""
    return "".join(c if c.isprintable() else "�" for c in text)
