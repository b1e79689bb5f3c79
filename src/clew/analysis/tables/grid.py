"""A table: heads that span columns, rows in sections, cells; and how it is written down.

As Markdown, LaTeX, CSV or HTML; names are escaped in each.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Callable, Sequence
from html import escape

from clew.analysis.formatting import number

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "Δ": r"$\Delta$", "ω²": r"$\omega^2$",
    "λ": r"$\lambda$", "θ": r"$\theta$", "≥": r"$\geq$", "—": "---", "†": r"$^\dagger$",
    "·": r"$\cdot$", "<": "$<$", ">": "$>$", "√": r"$\surd$",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is shown, and what it stands for."""

    text: str
    value: float | str | None = None
    """To sort by and for CSV; the text itself if there is none."""
    bold: bool = False
    detail: str = ""
    """Shown when pointed at, where the format can."""
    full: str = ""
    """For CSV instead of the value, where that is not all: both ends of an interval."""


Row = Sequence[Cell]


@dataclasses.dataclass(frozen=True)
class Grid:
    """One table."""

    name: str
    """A short name for files and links."""
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row] = ()
    """All of them, whether in sections or not."""
    groups: Sequence[tuple[str, int]] = ()
    """Heads above the columns, each with the number of columns it spans."""
    sections: Sequence[tuple[str, Sequence[Row]]] = ()
    """In place of `rows`: rows under a title each, or an empty one for a rule only."""
    left: int = 1
    """Columns on the left that hold words."""
    note: str = ""

    def __post_init__(self) -> None:
        sections = [(title, rows) for title, rows in self.sections or [("", self.rows)] if rows]
        object.__setattr__(self, "sections", sections)
        object.__setattr__(self, "rows", [row for _, rows in sections for row in rows])
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


def plus_minus(mean: float, std: float, decimals: int = 3, detail: str = "") -> Cell:
    """'0.164 ± 0.012', or the mean alone."""
    text = number(mean, decimals)
    if math.isfinite(std):
        text += f" ± {number(std, decimals)}"
    return figure(text, mean, detail=detail)


EMPTY = Cell("")


def markdown(grid: Grid) -> str:
    """GitHub's kind; heads that span columns are written out in each."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    lines = [f"**{grid.caption}**", "", line(grid.flat_columns)]
    lines.append("|" + "---|" * grid.left + "---:|" * (len(grid.columns) - grid.left))
    for title, rows in grid.sections:
        if title:
            lines.append(line([f"*{title}*"] + [""] * (len(grid.columns) - 1)))
        lines += [line([f"**{c.text}**" if c.bold else c.text for c in row]) for row in rows]
    return "\n".join([*lines, *(["", grid.note] if grid.note else [])]) + "\n"


def latex(grid: Grid) -> str:
    """booktabs, as the study has it; put it inside a table environment of your choice."""
    aligned = "l" * grid.left + "c" * (len(grid.columns) - grid.left)
    lines = [f"% {grid.caption}", rf"\begin{{tabular}}{{@{{}}{aligned}@{{}}}}", r"\toprule"]
    if grid.groups:
        lines.append(" & ".join(_spanning(t, s) for t, s in grid.groups) + r" \\")
        lines.append("".join(_rules(grid)))
    lines.append(" & ".join(tex(c) for c in grid.columns) + r" \\")
    for title, rows in grid.sections or [("", [])]:
        lines.append(r"\midrule")
        if title:
            span = rf"\multicolumn{{{len(grid.columns)}}}{{@{{}}l}}"
            lines.append(rf"{span}{{\emph{{{tex(title)}}}}} \\")
        lines += [" & ".join(_tex_cell(c) for c in row) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if grid.note:
        lines.append(rf"\par\footnotesize\raggedright {tex(grid.note)}")
    return "\n".join(lines) + "\n"


def csv_text(grid: Grid) -> str:
    """One head a column; numbers in full, not as they are rounded for reading."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    titled = any(title for title, _ in grid.sections)
    writer.writerow([*(["section"] if titled else []), *grid.flat_columns])
    for title, rows in grid.sections:
        for row in rows:
            values = [c.full or (c.text if c.value is None else c.value) for c in row]
            writer.writerow([*([title] if titled else []), *values])
    return out.getvalue()


def html(grid: Grid) -> str:
    """A `<table>` whose cells carry `data-value` to sort by and a title to point at."""
    head = ""
    if grid.groups:
        spans = "".join(
            f'<th scope="colgroup" colspan="{s}">{escape(t)}</th>' for t, s in grid.groups
        )
        head = f"<tr>{spans}</tr>"
    head += "<tr>" + "".join(f'<th scope="col">{escape(c)}</th>' for c in grid.columns) + "</tr>"
    body = ""
    for title, rows in grid.sections or [("", [])]:
        body += "<tbody>"
        if title:
            span = f'<th colspan="{len(grid.columns)}" scope="rowgroup">{escape(title)}</th>'
            body += f'<tr class="section">{span}</tr>'
        for row in rows:
            cells = (_html_cell(c, left=j < grid.left) for j, c in enumerate(row))
            body += "<tr>" + "".join(cells) + "</tr>"
        body += "</tbody>"
    note = f'<p class="note">{escape(grid.note)}</p>' if grid.note else ""
    return (
        f'<table id="table-{escape(grid.name)}" class="data">'
        f"<caption>{escape(grid.caption)}</caption>"
        f"<thead>{head}</thead>{body}</table>{note}\n"
    )


FORMATS: dict[str, Callable[[Grid], str]] = {
    "md": markdown,
    "tex": latex,
    "csv": csv_text,
    "html": html,
}
"""By file suffix."""


def tex(text: str) -> str:
    """Text with what LaTeX would misread written out."""
    text = text.replace("ω²", "\0")
    return "".join(_LATEX.get(c, c) for c in text).replace("\0", _LATEX["ω²"])


def _tex_cell(cell: Cell) -> str:
    text, mark, small = cell.text.partition("±")
    body = rf"\textbf{{{tex(text)}}}" if cell.bold else tex(text)
    return body + (rf"{{\scriptsize$\pm${tex(small)}}}" if mark else "")


def _spanning(title: str, span: int) -> str:
    return rf"\multicolumn{{{span}}}{{c}}{{{tex(title)}}}" if title else " & " * (span - 1)


def _rules(grid: Grid) -> list[str]:
    rules, at = [], 1
    for title, span in grid.groups:
        if title:
            rules.append(rf"\cmidrule(lr){{{at}-{at + span - 1}}}")
        at += span
    return rules


def _html_cell(cell: Cell, left: bool) -> str:
    value = cell.text if cell.value is None else cell.value
    title = f' title="{escape(cell.detail)}"' if cell.detail else ""
    body = f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text)
    kind = ' class="word"' if left else ""
    return f'<td{kind} data-value="{escape(str(value))}"{title}>{body}</td>'
