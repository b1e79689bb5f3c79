"""Files as they come after an accident: from good ones, by a fixed seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

_TOKEN = re.compile(rb"[A-Za-z0-9_./+-]+|[^\sA-Za-z0-9]")
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
HUGE = (
    b"1e308", b"1e-308", b"99999999999", b"9" * 5000, b"1e999999999", b"0." + b"3" * 200, b"-1",
    b"0.1e-5", b"1/0", b"NaN", b"-0", b"1.5", b"65536",
)  # fmt: skip
WORDS = (
    b"uniform", b"identity", b"reset", b"start", b"T", b"R:", b"*", b":", b"states:", b"exclude",
    b"{", b"}", b"[", b"]", b",", b'"', b"null", b'"1/3"', b"\\ud800", b"\x00", b"\xff", b"#",
)  # fmt: skip


def mutants(originals: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` files, each made by one to four accidents of one of the originals."""
    rng = random.Random(seed)
    for _ in range(count):
        data = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
            data = rng.choice(ACCIDENTS)(data, rng)
        yield data


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data or b" ")
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _swap(data: bytes, rng: random.Random) -> bytes:
    spans = [match.span() for match in _TOKEN.finditer(data)]
    if len(spans) < 2:
        return data
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _replace(data: bytes, rng: random.Random, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    spans = [match.span() for match in pattern.finditer(data)]
    if not spans:
        return data + new
    a, b = rng.choice(spans)
    return data[:a] + new + data[b:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data[: len(data) // 2]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.4:
        del lines[i]
    elif rng.random() < 0.5:
        lines.insert(i, lines[j])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _nest(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"[", b"{", b'{"a":', b"(")) * 20_000 + data[at:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


ACCIDENTS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _flip,
    _swap,
    _swap,
    _lines,
    _lines,
    lambda data, rng: _replace(data, rng, _NUMBER, rng.choice(HUGE)),
    lambda data, rng: _replace(data, rng, _NUMBER, str(rng.randrange(6)).encode()),
    lambda data, rng: _replace(data, rng, _TOKEN, rng.choice(WORDS)),
    lambda data, rng: _replace(data, rng, _TOKEN, b""),
    _nest,
    _cut,
)
