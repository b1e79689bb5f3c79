"""Rows of pictures with words below them, by Pillow."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clew.envs.canvas import BLUE, FAINT, GREEN, GREY, INK, ORANGE, RED, WHITE, Colour, write_gif

ACROSS = 6
"""Frames in a line; a longer history goes on below."""
MARGIN, GAP, BORDER = 24, 26, 3
SIDE, LARGEST = 132, 240
"""Pixels across: about so many of a small picture, which is enlarged by a whole number, and of a
box of words; no more than so many of a large picture."""
STEP, PAUSE = 90, 400
"""Hundredths of a second that a step of a film and its end are shown for."""
FRAMES = 60
"""Most pictures of a film; of longer histories, some steps are left out."""
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment: what is so, what is seen, and what is done then."""

    picture: np.ndarray | None
    seen: str
    done: str
    paid: Fraction
    differs: bool
    """Whether the two histories first differ here."""


@dataclass(frozen=True)
class Strip:
    """One history, and what comes afterwards."""

    frames: list[Frame]
    afterwards: list[str]


@dataclass(frozen=True)
class Section:
    """Two histories and a sentence about them."""

    about: str
    first: Strip
    second: Strip


def sheet(sections: Sequence[Section], notes: Sequence[str], at: int | None = None) -> Image.Image:
    """All frames, line after line; or, of a film, those at one moment."""
    strips = [strip for section in sections for strip in (section.first, section.second)]
    wide = max(_cell(frame).width for strip in strips for frame in strip.frames) + GAP
    columns = 1 if at is not None else min(ACROSS, max(len(s.frames) for s in strips))
    words = 2 * SIDE
    width = 2 * MARGIN + GAP + columns * wide + words
    parts = []
    for section in sections:
        parts.append(_paragraph(section.about + ":", width - 2 * MARGIN, 15, INK, bold=True))
        for name, strip in (("A", section.first), ("B", section.second)):
            parts.append(_row(name, strip, wide, columns, words, at))
    parts += [_paragraph(note, width - 2 * MARGIN, 12, GREY) for note in notes]
    page = Image.new("RGB", (width, 2 * MARGIN + sum(p.height + 10 for p in parts) - 10), WHITE)
    top = MARGIN
    for part in parts:
        page.paste(part, (MARGIN, top))
        top += part.height + 10
    return page


def film(path: Path, sections: Sequence[Section], notes: Sequence[str]) -> None:
    """Write a GIF that plays all histories at once; one that is shorter waits at its end."""
    longest = max(len(strip.frames) for s in sections for strip in (s.first, s.second))
    every = -(-longest // FRAMES)
    moments = range(longest - 1, -1, -every)[::-1]
    frames = [np.asarray(sheet(sections, notes, at)) for at in moments]
    write_gif(path, frames, [STEP] * (len(frames) - 1) + [PAUSE])


def _row(
    name: str, strip: Strip, wide: int, columns: int, words: int, at: int | None
) -> Image.Image:
    """A history's frames, each so wide, and at the end what comes afterwards, in words."""
    last = len(strip.frames) - 1
    shown = range(last + 1) if at is None else [min(at, last)]
    lines = -(-len(shown) // columns)
    said = [_paragraph(line, words, 13, INK, not i) for i, line in enumerate(strip.afterwards)]
    high = max([_cell(frame).height for frame in strip.frames] + [sum(s.height + 3 for s in said)])
    row = Image.new("RGB", (GAP + columns * wide + words, lines * (high + 8)), WHITE)
    pen = ImageDraw.Draw(row)
    pen.text((0, 4), name, INK, _font(17, True))
    for place, number in enumerate(shown):
        frame = strip.frames[number]
        left, top = GAP + place % columns * wide, place // columns * (high + 8)
        colour = BLUE if number == last else ORANGE if frame.differs else FAINT
        row.paste(_cell(frame, colour), (left, top))
        if number < last:
            middle = top + BORDER + _inside(frame).height // 2
            following = strip.frames[number + 1].differs
            _arrow(pen, left + wide - GAP + 5, middle, ORANGE if following else GREY)
        else:
            for part in said:
                row.paste(part, (left + wide - GAP + 16, top))
                top += part.height + 3
    return row


def _arrow(pen: ImageDraw.ImageDraw, x: int, y: int, colour: Colour) -> None:
    pen.line((x, y, x + 10, y), colour, 2)
    pen.polygon([(x + 9, y - 5), (x + 16, y), (x + 9, y + 5)], colour)


def _inside(frame: Frame) -> Image.Image:
    """A picture, or a box of words."""
    if frame.picture is not None:
        inside = Image.fromarray(frame.picture)
        if inside.width > LARGEST:
            return inside.resize((LARGEST, inside.height * LARGEST // inside.width))
        times = max(1, round(SIDE / inside.width))
        return inside.resize(
            (inside.width * times, inside.height * times), Image.Resampling.NEAREST
        )
    words = _paragraph(frame.seen, SIDE - 12, 14, INK)
    inside = Image.new("RGB", (max(SIDE, words.width), max(SIDE // 2, words.height)), WHITE)
    inside.paste(words, ((inside.width - words.width) // 2, (inside.height - words.height) // 2))
    return inside


@lru_cache(512)  # each is drawn, and measured again and again
def _cell(frame: Frame, colour: Colour = FAINT) -> Image.Image:
    """A picture or box in its frame, with what is seen, done and paid below."""
    inside = _inside(frame)
    below = [] if frame.picture is None else [_paragraph(frame.seen, inside.width, 12, GREY)]
    if frame.done:
        below.append(_paragraph(frame.done, inside.width, 14, INK, bold=True))
    if frame.paid:
        paid = f"pays {frame.paid}"
        below.append(_paragraph(paid, inside.width, 14, GREEN if frame.paid > 0 else RED, True))
    width, high = inside.width + 2 * BORDER, inside.height + 2 * BORDER
    cell = Image.new("RGB", (width, high + sum(part.height + 2 for part in below)), WHITE)
    ImageDraw.Draw(cell).rectangle((0, 0, width - 1, high - 1), colour)
    cell.paste(inside, (BORDER, BORDER))
    top = high
    for part in below:
        cell.paste(part, (BORDER, top + 2))
        top += part.height + 2
    return cell


def _paragraph(text: str, width: int, size: int, colour: Colour, bold: bool = False) -> Image.Image:
    """Words in lines, as wide as they need and no wider than allowed."""
    font, lines = _font(size, bold), [""]
    for word in (part for whole in text.split() for part in _parts(whole, font, width)):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    wide = max(int(font.getlength(line)) + 1 for line in lines)
    high = round(size * 1.35)
    picture = Image.new("RGB", (min(max(wide, 1), width), high * len(lines)), WHITE)
    pen = ImageDraw.Draw(picture)
    for place, line in enumerate(lines):
        pen.text((0, place * high), line, colour, font)
    return picture


def _parts(word: str, font: Font, width: int) -> list[str]:
    """A word that is too long for a line, broken."""
    lines = -(-int(font.getlength(word)) // width)
    most = max(1, len(word) // lines) if lines > 1 else len(word)
    return [word[i : i + most] for i in range(0, len(word), most)]


@cache
def _font(size: int, bold: bool = False) -> Font:
    """Matplotlib's, which has most signs; without it Pillow's own, which has those of English."""
    found = importlib.util.find_spec("matplotlib")
    if found is None or found.origin is None:
        return ImageFont.load_default(size)
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / name, size)
