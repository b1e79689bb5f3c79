"""How figures look: colours for the colour-blind, and shapes that can be told apart in grey."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import names

if TYPE_CHECKING:
    from matplotlib.typing import LegendLocType, RcKeyType

T = TypeVar("T")
INK = "#222222"
TITLE = 9
"""Points."""
LINE = 0.15
"""Inches that a line of a title takes."""
_RC: dict[RcKeyType, object] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#777777",
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "axes.titlesize": 8,
    "text.color": INK,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    # a name may hold a dollar sign
    "text.parse_math": False,
    # the same figure, the same bytes
    "svg.hashsalt": "clew",
}

# Okabe and Ito's palette; lightness differs too, and every bonus has a dash and a mark of its own.
Dash = tuple[int, tuple[float, ...]] | str
_BONUS: dict[str, tuple[str, Dash, str]] = {
    "none": ("#8c8c8c", (0, (1, 1.2)), "o"),
    "e3b": ("#0072b2", "solid", "s"),
    "noveld": ("#d55e00", (0, (4, 1.6)), "^"),
    "counts": ("#009e73", (0, (5, 1, 1, 1)), "D"),
    "icm": ("#7a5195", (0, (2, 1)), "v"),
    "ride": ("#e69f00", (0, (6, 2)), "P"),
    "rnd": ("#000000", (0, (8, 1)), "X"),
}
_BONUS_SPARE: tuple[tuple[str, Dash, str], ...] = (
    ("#009e73", (0, (5, 1, 1, 1)), "D"),
    ("#cc79a7", (0, (2, 1)), "v"),
    ("#e69f00", (0, (6, 2)), "P"),
    ("#56b4e9", (0, (3, 1, 1, 1, 1, 1)), "p"),
    ("#000000", (0, (8, 1)), "h"),
)
_ARCHITECTURE = {
    "GRU": ("#0072b2", "o"),
    "LSTM": ("#56b4e9", "s"),
    "RetNet": ("#d55e00", "^"),
    "GatedDeltaNet": ("#009e73", "D"),
    "Mamba-2": ("#cc79a7", "v"),
    names.MEMORYLESS: ("#8c8c8c", "X"),
    names.GIVEN: ("#444444", "P"),
}
_ARCHITECTURE_SPARE = (
    ("#e69f00", "P"), ("#000000", "*"), ("#7a5195", "h"), ("#009e73", "<"), ("#d55e00", ">"),
    ("#56b4e9", "p"), ("#0072b2", "d"),
)  # fmt: skip


def bonus_style(bonus: str, among: Iterable[str] = ()) -> tuple[str, Dash, str]:
    """Colour, dash and mark; other ones for each of `among`, as long as there are any."""
    return _BONUS.get(bonus) or _spare(_BONUS_SPARE, bonus, set(among) - set(_BONUS))


def architecture_style(architecture: str, among: Iterable[str] = ()) -> tuple[str, str]:
    """Colour and mark; other ones for each of `among`, as long as there are any."""
    known = _ARCHITECTURE.get(architecture)
    return known or _spare(_ARCHITECTURE_SPARE, architecture, set(among) - set(_ARCHITECTURE))


def _spare(spares: Sequence[T], name: str, others: set[str]) -> T:
    place = sorted(others).index(name) if name in others else sum(map(ord, name))
    return spares[place % len(spares)]


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures are drawn in this style."""
    with mpl.rc_context(_RC):
        yield


def new(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, outside pyplot."""
    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int, width: float, height: float, across: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels of this size, in rows."""
    across = min(count, across)
    down = -(-count // across)
    figure = new(width * across, height * down + 0.5)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]


def legend(
    figure: Figure, grid: Sequence[Axes], loc: LegendLocType, fontsize: float, across: int = 0
) -> None:
    """One for all panels, each label once, in one row or `across` in a row."""
    handles: dict[str, Artist] = {}
    for axes in grid:
        handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc=loc, fontsize=fontsize, ncols=across or len(handles)
    )


def wrapped(text: str, inches: float, size: float = 8, bold: bool = True) -> str:
    """In lines that fit, of letters that are `size` points high; cut at spaces and commas."""
    letters = max(8, int(inches * 72 / ((0.68 if bold else 0.62) * size)))
    cut = text.replace(", ", ",").replace(",", ", ")
    lines = textwrap.wrap(cut, letters, break_long_words=False, break_on_hyphens=False)
    return "\n".join(part for line in lines for part in _broken(line, letters))


def _broken(word: str, letters: int) -> list[str]:
    """A word that is too long for a line, cut at its marks, and elsewhere if there is none."""
    if len(word) <= letters:
        return [word]
    lines = [""]
    for part in re.findall(r".+?(?:[-_/:.=]|$)", word):
        if lines[-1] and len(lines[-1] + part) > letters:
            lines.append("")
        lines[-1] += part
    return [cut for line in lines for cut in textwrap.wrap(line, letters, break_on_hyphens=False)]


def heading(figure: Figure, text: str, right: float) -> None:
    """A title from the left edge, in room of its own; `right` inches are left to a legend."""
    width, height = figure.get_size_inches()
    lines = wrapped(text, width - right, TITLE)
    figure.set_size_inches(width, height + LINE * lines.count("\n"))
    figure.suptitle(lines, x=0.01, ha="left", fontweight="bold", fontsize=TITLE)


def quiet_grid(axes: Axes) -> None:
    """Faint rules across, behind everything."""
    axes.grid(axis="y", color="#ececec", linewidth=0.6)
    axes.set_axisbelow(True)


def success_axis(axes: Axes) -> None:
    """0 to 1, with room for marks at both ends and rules at the quarters."""
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
    quiet_grid(axes)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg, .pdf and .png; the same figure gives the same bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    paths = []
    with styled():
        for suffix, metadata in dateless.items():
            path = stem.parent / f"{stem.name}.{suffix}"
            figure.savefig(path, metadata=metadata)
            paths.append(path)
    return paths
