"""A table: heads that span columns, rows in sections, cells; and how it is written down.

As Markdown, LaTeX, CSV or HTML; names are escaped in each.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

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
    """(row, title): a title before that row, or an empty one for a rule only."""
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


def in_sections(
    groups: Iterable[tuple[str, list[list[Cell]]]],
) -> tuple[list[list[Cell]], list[tuple[int, str]]]:
    """Rows and `sections` of a table from (title, rows) of each section."""
    rows: list[list[Cell]] = []
    sections = []
    for title, mine in groups:
        sections.append((len(rows), title))
        rows += mine
    return rows, sections


def markdown(grid: Grid) -> str:
    """GitHub's kind; heads that span columns are written out in each."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    lines = [f"**{grid.caption}**", "", line(grid.flat_columns)]
    lines.append("|" + "---|" * grid.left + "---:|" * (len(grid.columns) - grid.left))
    titles = dict(grid.sections)
    for i, row in enumerate(grid.rows):
        if titles.get(i):
            lines.append(line([f"*{titles[i]}*"] + [""] * (len(row) - 1)))
        lines.append(line([f"**{c.text}**" if c.bold else c.text for c in row]))
    return "\n".join([*lines, *(["", grid.note] if grid.note else [])]) + "\n"


def latex(grid: Grid) -> str:
    """booktabs, as the study has it; put it inside a table environment of your choice."""
    aligned = "l" * grid.left + "c" * (len(grid.columns) - grid.left)
    lines = [f"% {grid.caption}", rf"\begin{{tabular}}{{@{{}}{aligned}@{{}}}}", r"\toprule"]
    if grid.groups:
        lines.append(" & ".join(_spanning(t, s) for t, s in grid.groups) + r" \\")
        lines.append("".join(_rules(grid)))
    lines.append(" & ".join(tex(c) for c in grid.columns) + r" \\")
    lines.append(r"\midrule")
    titles = dict(grid.sections)
    for i, row in enumerate(grid.rows):
        if i in titles:
            lines += [r"\midrule"] * (i > 0)
            if titles[i]:
                title = rf"\emph{{{tex(titles[i])}}}"
                lines.append(rf"\multicolumn{{{len(row)}}}{{@{{}}l}}{{{title}}} \\")
        lines.append(" & ".join(_tex_cell(c) for c in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if grid.note:
        lines.append(rf"\par\footnotesize\raggedright {tex(grid.note)}")
    return "\n".join(lines) + "\n"


def csv_text(grid: Grid) -> str:
    """One head a column; numbers in full, not as they are rounded for reading."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    titled = any(title for _, title in grid.sections)
    writer.writerow([*(["section"] if titled else []), *grid.flat_columns])
    titles, title = dict(grid.sections), ""
    for i, row in enumerate(grid.rows):
        title = titles.get(i, title)
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
    body, titles = [], dict(grid.sections)
    for i, row in enumerate(grid.rows):
        if i in titles:
            body += ["</tbody><tbody>"] * (i > 0)
            if titles[i]:
                span = f'<th colspan="{len(row)}" scope="rowgroup">{escape(titles[i])}</th>'
                body.append(f'<tr class="section">{span}</tr>')
        cells = (_html_cell(c, left=j < grid.left) for j, c in enumerate(row))
        body.append("<tr>" + "".join(cells) + "</tr>")
    note = f'<p class="note">{escape(grid.note)}</p>' if grid.note else ""
    return (
        f'<table id="table-{escape(grid.name)}" class="data">'
        f"<caption>{escape(grid.caption)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>{note}\n"
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
