"""Every run of a task: a panel an agent, a column without a bonus and one with each, a dot a seed.

The agent's own memory is one panel and Given, the given memory, another: side by side they are the
four arms of the answer. Widths are in per cent and sizes in pixels, so that a panel is as wide as
the page lets it be and its text stays as large as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
from markupsafe import Markup

from clew.analysis import names
from clew.analysis.figures.style import bonus_style
from clew.analysis.formatting import rate
from clew.analysis.stats.intervals import mean_interval
from clew.analysis.stats.task import Task

HEIGHT, TOP, FLOOR = 208, 10, 164
LEFT = 14.0
"""Per cent of the width that is left for the scale."""
DOT = 4
LETTERS = 26
"""Under a panel: its columns share them."""
REACH = 16
"""Pixels to each side of a column's middle that dots may take."""
ROLES = {"own": "own memory", "given": "control: given memory", "lower": "control: no memory"}


def four_arms(task: Task, finished: pd.DataFrame, bonuses: Sequence[str]) -> Markup:
    """The panels of one task, the controls last.

    `finished` are the task's runs, and `bonuses` all that need a colour of their own on the page.
    """
    colours = {b: bonus_style(b, bonuses)[0] for b in (names.NONE, *bonuses)}
    order = [*task.memories, *(a for a in (task.upper, task.lower) if a in task.architectures)]
    shown = [_panel(task, a, finished[finished["architecture"] == a], colours) for a in order]
    sizes = f"--n:{len(shown)};--k:{1 + len(task.bonuses)}"
    return Markup(f'<div class="arms" style="{sizes}">{"".join(shown)}</div>')


def swarm(heights: Sequence[float]) -> list[int]:
    """How many dots to the side each dot goes, so that none hides another."""
    placed: list[tuple[float, int]] = []
    lanes = sorted(range(-len(heights), len(heights) + 1), key=abs)
    for y in heights:
        near = {lane for height, lane in placed if abs(height - y) < 2 * DOT}
        placed.append((y, next(lane for lane in lanes if lane not in near)))
    return [lane for _, lane in placed]


def _panel(task: Task, architecture: str, runs: pd.DataFrame, colours: Mapping[str, str]) -> str:
    role = {task.upper: "given", task.lower: "lower"}.get(architecture, "own")
    bonuses = [b for b in (names.NONE, *task.bonuses) if (architecture, b) in task.arms]
    parts = [_frame()]
    for i, bonus in enumerate(bonuses):
        x = LEFT + (i + 0.5) * (100 - LEFT) / len(bonuses)
        room = LETTERS // len(bonuses)
        label = names.bonus_label(bonus)
        parts.append(
            f'<g style="--c:{colours[bonus]}" data-arm="{escape(f"{architecture}, {label}")}">'
            f"{_column(x, label, runs[runs['bonus'] == bonus], room)}</g>"
        )
    said = escape(f"{architecture}, {ROLES[role]}: success of every seed")
    caption = f"<b>{escape(architecture)}</b><br><small>{ROLES[role]}</small>"
    return (
        f'<figure class="{role}"><figcaption>{caption}</figcaption>'
        f'<svg height="{HEIGHT}" tabindex="0" role="group" aria-label="{said}">{"".join(parts)}'
        "</svg></figure>"
    )


def _y(success: float) -> float:
    return TOP + (1 - success) * (FLOOR - TOP)


def _frame() -> str:
    ticks = []
    for value, label in ((0, "0"), (0.5, ".5"), (1, "1")):
        y = _y(value)
        ticks.append(f'<line class="rule" x1="20" x2="100%" y1="{y:.0f}" y2="{y:.0f}"/>')
        ticks.append(f'<text class="tick" x="15" y="{y + 4:.0f}">{label}</text>')
    return "".join(ticks)


def _column(x: float, label: str, runs: pd.DataFrame, room: int) -> str:
    runs = runs.sort_values(["tail_mean", "seed"], kind="stable")
    values = runs["tail_mean"].to_numpy(float)
    found = mean_interval(values)
    mean = _y(found.estimate)
    at = f'x="{x:.1f}%"'
    parts = []
    if found.known:
        low, high = (_y(min(1.0, max(0.0, v))) for v in (found.low, found.high))
        size = f'y="{high:.1f}" height="{max(low - high, 1):.1f}" width="30"'
        parts.append(f'<rect class="interval" {at} {size} transform="translate(-15)"/>')
    size = f'y="{mean - 1.5:.1f}" height="3" width="36"'
    parts.append(f'<rect class="mean" {at} {size} transform="translate(-18)"/>')
    lanes = swarm([_y(v) for v in values])
    pitch = min(2.0 * DOT, REACH / max(1, *map(abs, lanes)))
    shifts = [lane * pitch for lane in lanes]
    dots = zip(values, shifts, runs["seed"], runs["run"], strict=True)
    parts += [_dot(x, *dot) for dot in dots]
    text = rate(found.estimate)
    parts.append(f'<text class="side" {at} y="{FLOOR + 20}">{_cut(label, room)}</text>')
    parts.append(f'<text class="side" {at} y="{FLOOR + 37}">{text}</text>')
    return "".join(parts)


def _cut(label: str, room: int) -> str:
    if len(label) <= room:
        return escape(label)
    return f"<title>{escape(label)}</title>{escape(label[: room - 1])}…"


def _dot(x: float, value: float, shift: float, seed: int, run: str) -> str:
    moved = f' transform="translate({shift:.1f})"' if shift else ""
    named = f' data-run="{escape(run)}"' if run else ""
    return (
        f'<circle cx="{x:.1f}%" cy="{_y(value):.1f}" r="{DOT}"{moved} data-seed="{seed}" '
        f'data-success="{rate(value)}"{named}><title>seed {seed}: {rate(value)}</title></circle>'
    )
