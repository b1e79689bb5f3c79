"""TinyReproduce as a strip: what was dictated above, what was played below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.envs.canvas import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PINK,
    RED,
    SKY,
    WHITE,
    YELLOW,
    Canvas,
    Colour,
)

if TYPE_CHECKING:
    from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce

CELL = 28
_TOKENS: tuple[Colour, ...] = (ORANGE, SKY, PINK, BLUE, YELLOW, GREEN)


def draw(env: TinyReproduce, state: SequenceState) -> np.ndarray:
    """Dictated tokens not yet shown are small; the one in view is framed; wrong is crossed out."""
    canvas = Canvas((env.k + 1) * CELL, 3 * CELL + 8, WHITE)
    sequence = np.asarray(state.sequence)
    t, n_correct = int(state.t), int(state.n_correct)
    for place, token in enumerate(sequence):
        x = (place + 1) * CELL
        if place == t:
            canvas.rectangle(x - CELL / 2 + 1, 5, CELL - 2, CELL - 2, INK)
            canvas.rectangle(x - CELL / 2 + 3, 7, CELL - 6, CELL - 6, WHITE)
        _token(canvas, x, 4 + CELL / 2, int(token), CELL * (0.34 if place <= t else 0.14))

    # played tokens stand under the ones they repeat
    order = range(env.k - 1, -1, -1) if env.order == "reverse" else range(env.k)
    wrong = int(state.played) >= 0 and not bool(state.is_correct)
    for turn, place in enumerate(order):
        x, y = (place + 1) * CELL, 4 + 2.1 * CELL
        canvas.disc(x, y, CELL * 0.1, FAINT)
        if turn < n_correct:
            _token(canvas, x, y, int(sequence[place]), CELL * 0.34)
        if turn == n_correct and wrong:
            _token(canvas, x, y, int(state.played), CELL * 0.34)
            canvas.cross(x, y, CELL * 0.3, 3, RED)
    done = CELL * env.k * t / env.horizon
    canvas.rectangle(CELL / 2, 3 * CELL, CELL * env.k, 3, FAINT)
    canvas.rectangle(CELL / 2, 3 * CELL, done, 3, INK)
    return canvas.image()


def _token(canvas: Canvas, x: float, y: float, token: int, radius: float) -> None:
    """Token 0 is one dot, token 1 two, …: told apart without colour too."""
    canvas.disc(x, y, radius, _TOKENS[token % len(_TOKENS)])
    if radius < CELL / 5:
        return
    dots = token % 9 + 1
    for dot in range(dots):
        angle = 2 * np.pi * dot / dots
        reach = radius * 0.5 if dots > 1 else 0.0
        canvas.disc(x + reach * np.cos(angle), y + reach * np.sin(angle), 1.6, INK)
