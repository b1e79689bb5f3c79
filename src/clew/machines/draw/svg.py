"""A picture as SVG: no scripts, no links, names escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from clew.machines.draw.curves import Box, Curve, Outline, Point
from clew.machines.draw.picture import Picture, head
from clew.machines.draw.typeset import LINE, SIZE, SUBSCRIPT, Line

INK, END_FILL = "#000", "#ececec"
FONTS = "'STIX Two Text', STIXGeneral, 'Times New Roman', Times, 'Liberation Serif', serif"
RING = 3.5
"""Distance between the two outlines of a terminal state."""


def svg(picture: Picture) -> str:
    """The whole file."""
    frame, scene = picture.frame, picture.scene
    wide, high = frame.right - frame.left, frame.bottom - frame.top
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="{_n(frame.left)} {_n(frame.top)} {_n(wide)} {_n(high)}" role="img" '
        f'font-family="{FONTS}" font-size="{SIZE:g}" fill="{INK}">',
        f"<title>{escape(scene.title)}</title>",
        _arrow(picture.entry),
        *(_arrow(curve) for curve in picture.curves),
        *(
            _state(outline, scene.states[u], u in scene.terminal)
            for u, outline in enumerate(picture.outlines)
        ),
    ]
    for arrow, box in zip(scene.arrows, picture.labels, strict=True):
        parts += _label(arrow.lines, box, arrow.full)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(curve: Curve) -> str:
    a, b, c, d = map(_p, curve.points)
    tip = " L".join(_p(point) for point in head(curve))
    return (
        f'<path d="M{a} C{b} {c} {d}" fill="none" stroke="{INK}" stroke-width="1.1"/>'
        f'<path d="M{tip} Z"/>'
    )


def _state(outline: Outline, name: Line, ends: bool) -> str:
    rings = [_ring(outline, 0.0, END_FILL if ends else "#fff")]
    if ends:
        rings.append(_ring(outline, RING, "none"))
    return "".join(rings) + _text(name, outline.centre)


def _ring(outline: Outline, inside: float, fill: str) -> str:
    box = outline.box.grown(-inside)
    return (
        f'<rect x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(box.right - box.left)}" '
        f'height="{_n(box.bottom - box.top)}" rx="{_n(outline.radius - inside)}" fill="{fill}" '
        f'stroke="{INK}" stroke-width="1.3"/>'
    )


def _label(lines: tuple[Line, ...], box: Box, full: str) -> Iterable[str]:
    yield (
        f'<g><title>{escape(full)}</title><rect x="{_n(box.left)}" y="{_n(box.top)}" '
        f'width="{_n(box.right - box.left)}" height="{_n(box.bottom - box.top)}" rx="3" '
        'fill="#fff" fill-opacity="0.85"/>'
    )
    for nth, line in enumerate(lines):
        x = (box.left + box.right) / 2
        yield _text(line, Point(x, box.top + (nth + 0.5) * SIZE * LINE))
    yield "</g>"


def _text(line: Line, centre: Point) -> str:
    lowered = f'<tspan dy="{_n(SIZE * 0.2)}" font-size="{_n(SIZE * SUBSCRIPT)}">'
    styles = {"roman": "<tspan>", "italic": '<tspan font-style="italic">', "sub": lowered}
    runs = [f"{styles[run.style]}{escape(run.text)}</tspan>" for run in line]
    y = centre.y + SIZE * 0.33
    return f'<text x="{_n(centre.x)}" y="{_n(y)}" text-anchor="middle">{"".join(runs)}</text>'


def _p(point: Point) -> str:
    return f"{_n(point.x)},{_n(point.y)}"


def _n(number: float) -> str:
    return f"{round(number, 2) + 0.0:g}" if abs(number) < 1000 else f"{number:.1f}"
