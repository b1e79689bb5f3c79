"""The interaction as SVG in the page: every memory's mean without the bonus and with it."""

from __future__ import annotations

from html import escape

import numpy as np

from clew.analysis import formatting
from clew.analysis.figures.style import architecture_style
from clew.analysis.names import NONE, bonus_label
from clew.analysis.verdict import Verdict

WIDTH, HEIGHT = 330, 210
LEFT, RIGHT, TOP, BOTTOM = 26, 104, 8, 24
_MARKS = {  # drawn around the origin, about four units wide
    "o": '<circle r="2.1"/>',
    "s": '<rect x="-1.9" y="-1.9" width="3.8" height="3.8"/>',
    "^": '<path d="M0-2.5 2.3 1.7-2.3 1.7z"/>',
    "D": '<path d="M0-2.7 2.7 0 0 2.7-2.7 0z"/>',
    "v": '<path d="M0 2.5 2.3-1.7-2.3-1.7z"/>',
    "X": '<path d="M-2-2 2 2M-2 2 2-2" stroke="currentColor"/>',
    "P": '<path d="M-2.5 0H2.5M0-2.5V2.5" stroke="currentColor"/>',
}


def panel(verdict: Verdict) -> str:
    """One task and bonus as an `<svg>`. The controls are dotted, and not in the bars."""
    task, bonus = verdict.task, verdict.bonus
    chosen = task.both(bonus, task.architectures)
    parts = [_frame(bonus)]
    if spread := verdict.spread.architectures:
        sides = ((-0.32, NONE), (1.32, bonus))
        parts += [_bar(x, [task.arms[a, b] for a in spread]) for x, b in sides]
    ends = []
    for i, a in enumerate(chosen):
        shift = 0.07 * (i - (len(chosen) - 1) / 2)
        arms = task.arms[a, NONE], task.arms[a, bonus]
        parts.append(_architecture(a, shift, arms, chosen, dotted=a not in task.memories))
        ends.append(float(arms[1].mean()))
    for y, a in zip(apart(ends, 0.075), chosen, strict=True):
        at = f'x="{WIDTH - RIGHT + 6}" y="{_y(y) + 3:.1f}"'
        parts.append(f"<text {at}>{escape(a)}</text>")
    said = f"{task.label}, {bonus_label(bonus)}: {verdict.heading}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">'
        f"{''.join(parts)}</svg>"
    )


def _x(place: float) -> float:
    return LEFT + (place + 0.42) / 1.84 * (WIDTH - LEFT - RIGHT)


def _y(success: float) -> float:
    return TOP + (1 - success) * (HEIGHT - TOP - BOTTOM)


def _frame(bonus: str) -> str:
    lines = []
    for value, label in ((0, "0"), (0.5, ".5"), (1, "1")):
        y = _y(value)
        lines.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3:.1f}">{label}</text>')
    for place, name in ((0, NONE), (1, bonus)):
        text = escape(bonus_label(name))
        lines.append(f'<text class="side" x="{_x(place):.1f}" y="{HEIGHT - 4}">{text}</text>')
    return "".join(lines)


def _bar(place: float, arms: list) -> str:
    """One SEP to each side of the mean over architectures."""
    means = np.array([v.mean() for v in arms])
    middle, sep = float(means.mean()), float(means.std())
    path = f'd="M{_x(place):.1f} {_y(middle - sep):.1f}V{_y(middle + sep):.1f}"'
    said = f"mean {formatting.number(middle, 2)} ± SEP {formatting.number(sep)}"
    return f'<path class="sep" {path}><title>{said}</title></path>'


def _architecture(
    name: str, shift: float, arms: tuple, among: tuple[str, ...], *, dotted: bool
) -> str:
    """A line from the mean without the bonus to the mean with it."""
    colour, mark = architecture_style(name, among)
    shape = _MARKS.get(mark, _MARKS["o"])
    ends = [(_x(p + shift), _y(float(v.mean()))) for p, v in zip((0, 1), arms, strict=True)]
    path = f'd="M{ends[0][0]:.1f} {ends[0][1]:.1f}L{ends[1][0]:.1f} {ends[1][1]:.1f}"'
    gain = formatting.signed(float(arms[1].mean() - arms[0].mean()))
    dash = ' stroke-dasharray="1.5 2.5"' if dotted else ""
    marks = "".join(f'<g transform="translate({x:.1f} {y:.1f})">{shape}</g>' for x, y in ends)
    return (
        f'<g style="--c:{colour}"><title>{escape(name)}: {gain}</title>'
        f'<path class="line" {dash} {path}/><g class="mark">{marks}</g></g>'
    )


def apart(ys: list[float], gap: float = 0.062) -> list[float]:
    """Heights near these, no two closer than `gap`, inside 0 to 1."""
    order = np.argsort(ys, kind="stable")
    placed = np.array(ys, float)[order]
    for _ in range(200):
        close = np.diff(placed) < gap - 1e-9
        if not close.any():
            break
        for i in np.flatnonzero(close):
            push = (gap - (placed[i + 1] - placed[i])) / 2
            placed[i] -= push
            placed[i + 1] += push
        placed = np.clip(placed, 0 - 0.02, 1.02)
    out = np.empty(len(ys))
    out[order] = placed
    return out.tolist()
