"""A table before it is written down: heads that span columns, rows in sections, cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is shown, and what it stands for."""

    text: str
    value: float | str | None = None
    """To sort by and for CSV; the text itself if there is none."""
    bold: bool = False
    detail: str = ""
    """Shown when pointed at, where the format can."""


@dataclasses.dataclass(frozen=True)
class Grid:
    """One table."""

    name: str
    """A short name for files and links."""
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    groups: Sequence[tuple[str, int]] = ()
    """Heads above the columns, each with the number of columns it spans."""
    sections: Sequence[tuple[int, str]] = ()
    """(row, title): a title before that row, or an empty one for a mere rule."""
    left: int = 1
    """Columns on the left that hold words."""
    note: str = ""

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.rows} | {len(self.columns)}
        if len(widths) != 1 or (self.groups and sum(s for _, s in self.groups) not in widths):
            raise ValueError(f"table {self.name}: rows of different widths {sorted(widths)}")

    @property
    def flat_columns(self) -> list[str]:
        """One head a column: 'Sparse e3b'."""
        over = [title for title, span in self.groups for _ in range(span)] or [""] * len(
            self.columns
        )
        return [f"{o} {c}".strip() for o, c in zip(over, self.columns, strict=True)]


def word(text: str) -> Cell:
    """A cell of words."""
    return Cell(text, text)


def figure(text: str, value: float, bold: bool = False, detail: str = "") -> Cell:
    """A cell of a number; one that is not defined sorts last."""
    return Cell(text, value if math.isfinite(value) else None, bold, detail)


EMPTY = Cell("")
