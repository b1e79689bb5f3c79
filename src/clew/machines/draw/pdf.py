"""A picture as PDF, by matplotlib, which brings fonts and embeds them."""

from __future__ import annotations

import os
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path

from clew.machines.draw.curves import Box, Curve, Outline, Point
from clew.machines.draw.picture import Picture, head
from clew.machines.draw.svg import END_FILL, INK, RING
from clew.machines.draw.typeset import LINE, SIZE, Line

SCALE = 0.72
"""Points of the page to a unit of the picture: letters of about ten points."""
ROUND = 0.5523
"""How far the control points of a cubic stand off that looks like a quarter of a circle."""
SETTINGS: Any = {
    "pdf.fonttype": 42,  # whole fonts, so that text can be searched and journals accept it
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "mathtext.fontset": "stix",
}


def write_pdf(picture: Picture, path: str | os.PathLike[str]) -> None:
    """One page, as large as the picture."""
    frame, scene = picture.frame, picture.scene
    wide, high = frame.right - frame.left, frame.bottom - frame.top
    with rc_context(SETTINGS):
        figure = Figure(figsize=(wide * SCALE / 72, high * SCALE / 72))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(frame.left, frame.right)
        axes.set_ylim(frame.bottom, frame.top)
        for curve in (picture.entry, *picture.curves):
            _arrow(axes, curve)
        for u, outline in enumerate(picture.outlines):
            ends = u in scene.terminal
            _ring(axes, outline, 0.0, END_FILL if ends else "#fff")
            if ends:
                _ring(axes, outline, RING, "none")
            _text(axes, scene.states[u], outline.centre)
        for arrow, box in zip(scene.arrows, picture.labels, strict=True):
            _label(axes, arrow.lines, box)
        about = {"Title": scene.title, "CreationDate": None}
        FigureCanvasPdf(figure).print_pdf(os.fspath(path), metadata=about)


def _arrow(axes: Any, curve: Curve) -> None:
    path = Path(list(curve.points), [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=INK, linewidth=1.1 * SCALE))
    axes.add_patch(Polygon(list(head(curve)), facecolor=INK, linewidth=0))


def _ring(axes: Any, outline: Outline, inside: float, fill: str) -> None:
    (x, y), half, r = outline.centre, outline.half, outline.radius - inside
    k = ROUND * r
    right, left = x + half, x - half
    corners = [
        (right, y - r), (right + k, y - r), (right + r, y - k), (right + r, y),
        (right + r, y + k), (right + k, y + r), (right, y + r), (left, y + r),
        (left - k, y + r), (left - r, y + k), (left - r, y),
        (left - r, y - k), (left - k, y - r), (left, y - r), (right, y - r),
    ]  # fmt: skip
    bow = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *bow, *bow, Path.LINETO, *bow, *bow, Path.CLOSEPOLY]
    look = {"facecolor": fill, "edgecolor": INK, "linewidth": 1.3 * SCALE}
    axes.add_patch(PathPatch(Path(corners, codes), **look))


def _label(axes: Any, lines: tuple[Line, ...], box: Box) -> None:
    for nth, line in enumerate(lines):
        _text(axes, line, Point((box.left + box.right) / 2, box.top + (nth + 0.5) * SIZE * LINE))


def _text(axes: Any, line: Line, centre: Point) -> None:
    styles = [run.style for run in line]
    if "sub" in styles:
        letter, index = (run.text for run in line)
        words, maths = rf"${letter}_{{\mathrm{{{index}}}}}$", True
    else:
        words, maths = "".join(run.text for run in line), False
    axes.text(
        centre.x,
        centre.y + SIZE * 0.33,
        words,
        ha="center",
        va="baseline",
        fontsize=SIZE * SCALE,
        color=INK,
        parse_math=maths,
    )
