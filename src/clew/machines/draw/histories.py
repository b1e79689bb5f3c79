"""Histories that look the same now, drawn: a strip of pictures for each, or a film of both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.machines.certificates.claims import History
from clew.machines.deciding.classify import Classification
from clew.machines.deciding.contrasts import Contrast, future
from clew.machines.draw.strips import Frame, Section, Strip, film, sheet
from clew.machines.model.pomdp import Pomdp
from clew.validate import BadInput, one_of

STRIPS = (".png", ".gif")
"""The endings of files that `draw_histories` writes: strips, and a film."""
OUTCOMES = 3
"""Outcomes of an action that are written out."""
HIDDEN = (
    "Each picture shows one state that fits its history, hidden parts too; below it stands what "
    "the agent sees, and what it then does."
)
LEGEND = "Orange: where the two histories first differ. Blue: now they look the same."


def draw_histories(
    answer: Classification, some: Sequence[Contrast], path: str | os.PathLike[str]
) -> None:
    """Write a strip (.png) or a film (.gif) of each two histories; boxes where none has pictures.

    `contrasts` finds them.
    """
    file = Path(path)
    one_of("the picture's ending", file.suffix.lower(), STRIPS)
    if not some:
        raise BadInput("there are no two histories to draw: none that look the same differ")
    sections = [_section(answer, each) for each in some]
    notes = [HIDDEN, LEGEND] if answer.pomdp.film else [LEGEND]
    if file.suffix.lower() == ".gif":
        film(file, sections, notes)
    else:
        sheet(sections, notes).save(file, format="PNG")


def _section(answer: Classification, contrast: Contrast) -> Section:
    pomdp = answer.pomdp
    one, two = contrast.histories
    action = contrast.action
    ways, others = _ways(pomdp, one), _ways(pomdp, two)
    differ = next(
        (i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y),
        min(len(one), len(two)),
    )
    return Section(
        contrast.about,
        _strip(answer, one, _likeliest(pomdp, ways, others, action), action, differ),
        _strip(answer, two, _likeliest(pomdp, others, ways, action), action, differ),
    )


class _Way(NamedTuple):
    """One way a history can have come about."""

    probability: Fraction
    states: tuple[int, ...]
    paid: tuple[Fraction, ...]


def _ways(pomdp: Pomdp, history: History) -> dict[int, _Way]:
    """The likeliest way to every state that a history may have led to."""
    now: dict[int, _Way] = {}
    for s, o, p in pomdp.start:
        if o == history[0]:
            now[s] = _Way(p, (s,), ())
    for action, seen in zip(history[1::2], history[2::2], strict=True):
        after: dict[int, _Way] = {}
        for s, way in now.items():
            for b in pomdp.steps[s][action]:
                if b.observation == seen and b.state not in pomdp.over:
                    chance = way.probability * b.probability
                    if b.state not in after or after[b.state].probability < chance:
                        paid = (*way.paid, b.reward)
                        after[b.state] = _Way(chance, (*way.states, b.state), paid)
        now = after
    return now


def _likeliest(
    pomdp: Pomdp, ways: Mapping[int, _Way], others: Mapping[int, _Way], action: int | None
) -> _Way:
    """Preferably one after which the action does what it cannot do after the other history."""

    def outcomes(state: int) -> set[tuple[int, bool, Fraction]]:
        row = () if action is None else pomdp.steps[state][action]
        return {(b.observation, b.state in pomdp.over, b.reward) for b in row}

    possible = {outcome for state in others for outcome in outcomes(state)}
    telling = [way for state, way in ways.items() if outcomes(state) - possible]
    own = [way for state, way in ways.items() if state not in others]
    return max(telling or own or ways.values(), key=lambda way: way.probability)


def _strip(
    answer: Classification, history: History, way: _Way, action: int | None, differ: int
) -> Strip:
    pomdp = answer.pomdp
    seen, done = history[::2], history[1::2]
    pictures: Sequence[np.ndarray | None] = (
        pomdp.film(way.states, history) if pomdp.film else [None] * len(seen)
    )
    frames = [
        Frame(
            picture,
            pomdp.observations[seen[i]],
            pomdp.actions[done[i]] if i < len(done) else "",
            way.paid[i] if i < len(done) else Fraction(0),
            differs=i == (differ + 1) // 2,
        )
        for i, picture in enumerate(pictures)
    ]
    return Strip(frames, _afterwards(answer, history, action))


def _afterwards(answer: Classification, history: History, action: int | None) -> list[str]:
    """What to do now, and what comes of the action that tells the two apart."""
    pomdp, after = answer.pomdp, future(answer, history, action)
    lines = []
    if after.good:
        lines.append("Best now: " + " or ".join(pomdp.actions[a] for a in after.good))
    if action is None:
        return [*lines, "The next step is the same after both; later it is not."]
    lines.append(f"{pomdp.actions[action]!r} would lead to:")
    likely = sorted(after.law, key=lambda way: -way[3])
    for o, over, reward, p in likely[:OUTCOMES]:
        parts = [] if over and pomdp.observations[o] == "end" else [pomdp.observations[o]]
        parts += [f"pays {reward}"] * bool(reward) + ["the end"] * over
        lines.append(f"{_percent(p)} {', '.join(parts)}")
    if len(likely) > OUTCOMES:
        lines.append(f"and {len(likely) - OUTCOMES} more")
    return lines


def _percent(p: Fraction) -> str:
    return "always:" if p == 1 else f"{float(p):.0%}:" if p > Fraction(1, 200) else "<1%:"
