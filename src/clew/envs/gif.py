"""Moving pictures: GIF files, written without any package for images."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np

from clew.validate import BadInput, whole_number

COLOURS = 256
_CLEAR, _END, _FULL = 256, 257, 4096  # codes beyond the 256 colours, and how many codes there are
_FOR_EVER = struct.pack("<3B11sBBHB", 0x21, 0xFF, 11, b"NETSCAPE2.0", 3, 1, 0, 0)


def write_gif(
    path: str | os.PathLike[str], frames: Sequence[np.ndarray], delays: Sequence[int]
) -> None:
    """Write RGB pictures of one size as a GIF that plays for ever.

    `delays` says for how many hundredths of a second each is shown. If there are more than 256
    colours, the rarest become the nearest of the others.
    """
    if not len(frames) or len({frame.shape for frame in frames}) > 1:
        raise BadInput("a GIF needs at least one frame, and all of one size")
    if len(delays) != len(frames):
        raise BadInput(f"{len(frames)} frames have {len(delays)} delays; each needs one")
    waits = [whole_number("delay", delay, 0, 2**16 - 1) for delay in delays]
    colours, palette, place = _palette(frames)
    height, width = frames[0].shape[:2]
    with open(path, "wb") as file:
        # 0xF7: one table of 256 colours for all frames
        file.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0))
        file.write(palette.tobytes().ljust(3 * COLOURS, b"\0") + _FOR_EVER)
        before = None
        for frame, wait in zip(frames, waits, strict=True):
            now = place[np.searchsorted(colours, _packed(frame))]
            file.write(_image(now, before, wait))
            before = now
        file.write(b"\x3b")


def _palette(frames: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every colour that occurs, the palette, and each colour's place in it."""
    counts: dict[int, int] = {}
    for frame in frames:
        for colour, count in zip(*np.unique(_packed(frame), return_counts=True), strict=True):
            counts[int(colour)] = counts.get(int(colour), 0) + int(count)
    colours = np.array(sorted(counts), np.int64)
    common = sorted(counts, key=lambda colour: (-counts[colour], colour))[:COLOURS]
    palette = _channels(np.array(common, np.int64))
    place = np.empty(len(colours), np.uint8)
    for start in range(0, len(colours), 1024):  # in parts: a photograph has many colours
        part = _channels(colours[start : start + 1024]).astype(int)
        apart = ((part[:, None] - palette.astype(int)) ** 2).sum(-1)
        place[start : start + 1024] = apart.argmin(1)
    return colours, palette, place


def _packed(frame: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(frame.astype(np.int64), -1, 0)
    return red << 16 | green << 8 | blue


def _channels(packed: np.ndarray) -> np.ndarray:
    return np.stack([packed >> 16, packed >> 8 & 255, packed & 255], -1).astype(np.uint8)


def _image(now: np.ndarray, before: np.ndarray | None, wait: int) -> bytes:
    """One frame: the rectangle in which it differs from the one before."""
    top, bottom, left, right = 0, now.shape[0], 0, now.shape[1]
    if before is not None:
        rows, columns = np.nonzero(now != before)
        # nothing differs: a single pixel, for the sake of its time
        top, bottom = (rows.min(), rows.max() + 1) if len(rows) else (0, 1)
        left, right = (columns.min(), columns.max() + 1) if len(rows) else (0, 1)
    control = struct.pack("<4BHBB", 0x21, 0xF9, 4, 1 << 2, wait, 0, 0)  # 1: leave it in place
    place = struct.pack("<BHHHHB", 0x2C, left, top, right - left, bottom - top, 0)
    data = _compressed(now[top:bottom, left:right].tobytes())
    blocks = (data[i : i + 255] for i in range(0, len(data), 255))
    return control + place + b"\x08" + b"".join(bytes([len(b)]) + b for b in blocks) + b"\0"


def _compressed(pixels: bytes) -> bytes:
    """Lempel, Ziv and Welch's code: strings seen before by number, in as few bits as will do."""
    out, held, bits = bytearray(), 0, 0
    size, fresh = 9, _END + 1
    known: dict[int, int] = {}
    codes: list[tuple[int, int]] = [(_CLEAR, size)]
    string = pixels[0]
    for pixel in pixels[1:]:
        longer = string << 8 | pixel
        if longer in known:
            string = known[longer]
            continue
        codes.append((string, size))
        if fresh < _FULL:
            known[longer] = fresh
            size += fresh == 1 << size
            fresh += 1
        else:
            codes.append((_CLEAR, size))
            known.clear()
            size, fresh = 9, _END + 1
        string = pixel
    codes.append((string, size))
    # who reads learns a string one code later, and may now count in more bits
    codes.append((_END, size + (fresh == 1 << size and fresh < _FULL)))
    for code, length in codes:
        held |= code << bits
        bits += length
        while bits >= 8:
            out.append(held & 255)
            held >>= 8
            bits -= 8
    return bytes(out) + (bytes([held]) if bits else b"")
