"""Cassandra's `.POMDP` text cut into words, numbers and signs, each with its place.

Whitespace and line ends only separate; `#` begins a comment. A word or number has to end where a
separator or colon stands, so that `1.0.5` is a mistake and not two numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.machines.formats.place import ParseError, Place

WORD, NUMBER, COLON, STAR, SIGN, END = "word", "number", ":", "*", "sign", "end"

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t]+|\#[^\r\n]*)
  | (?P<newline>\r\n|\r|\n)
  | (?P<colon>:)
  | (?P<star>\*(?=[\s:#]|\Z))
  | (?P<sign>[+-](?=[ \t]*[0-9.]))
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[\s:#]|\Z))
  | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*(?=[\s:#]|\Z))
  | (?P<wrong>[^\s:#]+|.)
    """,
    re.VERBOSE | re.ASCII,
)
_KINDS = {"colon": COLON, "star": STAR, "sign": SIGN, "number": NUMBER, "word": WORD}


class Token(NamedTuple):
    """One word, number or sign of the text."""

    kind: str
    text: str
    place: Place


def tokens(text: str) -> Iterator[Token]:
    """Cut `text`; the last token is the end, at the place where the text ends."""
    line, line_start = 1, 0
    for match in _TOKEN.finditer(text):
        group = match.lastgroup
        place = Place(line, match.start() - line_start + 1)
        if group == "newline":
            line, line_start = line + 1, match.end()
        elif group == "wrong":
            raise ParseError(
                "this is no word or number of the format",
                place,
                match.group(),
                "a name (letters, digits, '_', '-', '.', beginning with a letter), a number, "
                "':' or '*'",
            )
        elif group != "blank" and group is not None:
            yield Token(_KINDS[group], match.group(), place)
    yield Token(END, "", Place(line, len(text) - line_start + 1))
