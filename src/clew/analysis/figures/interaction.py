"""The interaction at a glance: lines that fan out, close up, or run level."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.analysis import words
from clew.analysis.figures.style import FAINT, INK, architecture_style, new, styled, success_axis
from clew.analysis.names import NONE, bonus_label
from clew.analysis.verdict import Verdict
from clew.validate import BadInput

ACROSS = 5
"""Panels in a row, at most."""
LINE = 34
"""Letters of a heading that fit above a panel."""
_SAYS = {
    "amplify": ("amplifies", "#0b6e4f"),
    "equalise": ("equalises", "#0b4f8a"),
    "shift": ("shifts", "#8a5a00"),
    "reorder": ("reorders", "#8a2f6b"),
    "null": ("does nothing", "#555555"),
    "inconclusive": ("not settled", "#a01c1c"),
}


def interaction(verdicts: list[Verdict]) -> Figure:
    """A panel for each task (columns) and bonus (rows): every seed a dot, every memory a line.

    On the left the seeds without the bonus, on the right those with it. The bars at the edges span
    one SEP to each side of the mean over memories: a longer one on the right is amplification. The
    control without a memory is dotted, and no part of them.
    """
    if not verdicts:
        raise BadInput("there is no task with a bonus and without: nothing to draw")
    labels = list(dict.fromkeys(v.task.label for v in verdicts))
    bonuses = list(dict.fromkeys(v.bonus for v in verdicts))
    across = min(len(labels), ACROSS)
    bands = -(-len(labels) // across)
    with styled():
        figure = new(2.35 * across + 0.4, 2.5 * len(bonuses) * bands + 0.4)
        grid = figure.subplots(len(bonuses) * bands, across, squeeze=False, sharey=True)
        for axes in grid.flat:
            axes.set_visible(False)
        for v in verdicts:
            at, bonus = labels.index(v.task.label), bonuses.index(v.bonus)
            axes = grid[at // across * len(bonuses) + bonus, at % across]
            axes.set_visible(True)
            _panel(axes, v)
        for row in grid:
            row[0].set_ylabel("tail-mean success")
        legend = (
            "small marks: seeds · lines: means, dotted without memory · bars: memories' mean ± SEP"
        )
        figure.supxlabel(legend, fontsize=6.8, color="#555555")
    return figure


def _panel(axes: Axes, verdict: Verdict) -> None:
    task, bonus = verdict.task, verdict.bonus
    chosen = task.both(bonus, control=True)
    ends = []
    for i, a in enumerate(chosen):
        colour, mark = architecture_style(a)
        shift = 0.07 * (i - (len(chosen) - 1) / 2)
        columns = task.arms[a, NONE], task.arms[a, bonus]
        for x, values in zip((0, 1), columns, strict=True):
            axes.plot(
                np.full(len(values), x + shift), values, mark, color=colour, markersize=2.6,
                alpha=0.45, markeredgewidth=0, zorder=2,
            )  # fmt: skip
        means = [v.mean() for v in columns]
        axes.plot(
            (shift, 1 + shift), means, color=colour, marker=mark, markersize=4.6, linewidth=1.6,
            linestyle="-" if a in task.memories else ":",
            markeredgecolor="white", markeredgewidth=0.7, zorder=3,
        )  # fmt: skip
        ends.append((float(means[1]), a, colour))
    for y, (_, a, colour) in zip(apart([e[0] for e in ends]), ends, strict=True):
        axes.annotate(a, (1.42, y), va="center", fontsize=6.2, color=colour, annotation_clip=False)
    _bars(axes, verdict)
    success_axis(axes)
    axes.set_xlim(-0.45, 1.4)
    axes.set_xticks([0, 1], [bonus_label(NONE), bonus_label(bonus)])
    _heading(axes, verdict)


def _heading(axes: Axes, verdict: Verdict) -> None:
    said, colour = _SAYS[verdict.pattern]
    # a world with its options is too long for one line
    label = (
        verdict.task.label.replace("[", "\n[")
        if len(verdict.task.label) > LINE
        else verdict.task.label
    )
    axes.set_title(label, loc="left", fontsize=7.5, pad=26)
    axes.text(0, 1.10, said, transform=axes.transAxes, fontsize=9, color=colour, weight="bold")
    delta = verdict.spread.delta
    under = f"ΔSEP {words.estimate(delta, 2, plus=True)}" if delta.known else "ΔSEP not defined"
    axes.text(0, 1.02, under, transform=axes.transAxes, fontsize=6.4, color="#555555")


def _bars(axes: Axes, verdict: Verdict) -> None:
    """One SEP to each side of the mean over architectures, at both edges."""
    task, chosen = verdict.task, verdict.spread.architectures
    if not chosen:
        return  # the control alone has no spread
    for x, bonus in ((-0.36, NONE), (1.33, verdict.bonus)):
        means = np.array([task.arms[a, bonus].mean() for a in chosen])
        middle, sep = means.mean(), means.std()
        axes.plot((x, x), (middle - sep, middle + sep), color=INK, linewidth=2.6, alpha=0.75,
                  solid_capstyle="butt", zorder=1)  # fmt: skip
        axes.plot((x - 0.03, x + 0.03), (middle, middle), color=FAINT, linewidth=0.8, zorder=1)


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
