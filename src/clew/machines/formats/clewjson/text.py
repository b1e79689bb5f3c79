"""JSON with places: every value knows where it stands, so that a later mistake can be pointed at.

Stricter than the standard library: no name twice in an object, no NaN, bounded nesting, and numbers
stay what was written instead of becoming floats.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from clew.machines.formats.numbers import written
from clew.machines.formats.text import LIMITS, Limits, ParseError, Place

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[A-Za-z]+")
_CONSTANTS = {"true": True, "false": False, "null": None}
KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    Fraction: "a number",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True)
class Node:
    """A value and its place. Objects are dicts and arrays lists of nodes, numbers are fractions."""

    value: Any
    place: Place
    text: str

    def fail(self, message: str, expected: str = "") -> NoReturn:
        """Refuse this value."""
        raise ParseError(message, self.place, self.text, expected)


def parse_json(text: str, limits: Limits = LIMITS) -> Node:
    """The one value that `text` is."""
    reader = _Reader(text, limits)
    node = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        reader.fail("there is more after the end of the value", "the end of the file")
    return node


class _Reader:
    def __init__(self, text: str, limits: Limits):
        self.text, self.limits, self.at = text, limits, 0
        self.lines = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def place(self) -> Place:
        line = bisect_right(self.lines, self.at)
        return Place(line, self.at - self.lines[line - 1] + 1)

    def fail(self, message: str, expected: str) -> NoReturn:
        found = re.compile(r"[A-Za-z0-9_.+-]+|.|\Z", re.DOTALL).match(self.text, self.at)
        raise ParseError(message, self.place(), found.group() if found else "", expected)

    def skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def value(self, depth: int) -> Node:
        self.skip()
        place, first = self.place(), self.text[self.at : self.at + 1]
        if first in ("{", "["):
            if depth >= self.limits.depth:
                self.fail(f"this is nested more than {self.limits.depth} deep", "less nesting")
            inside = self.object(depth + 1) if first == "{" else self.array(depth + 1)
            return Node(inside, place, first)
        if first == '"':
            text = self.string()
            return Node(text, place, text or '""')
        word = _WORD.match(self.text, self.at)
        if word and word.group() in _CONSTANTS:
            self.at = word.end()
            return Node(_CONSTANTS[word.group()], place, word.group())
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            self.fail("this is no value", "an object, array, string, number, true, false or null")
        self.at = number.end()
        text = number.group()
        return Node(written(text.lstrip("-"), place, text.startswith("-")).value, place, text)

    def object(self, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        self.at += 1
        while not self.closes("}", first=not found):
            name = self.string()
            if name in found:
                self.fail(f"{name!r} stands twice in this object", "a new name")
            self.skip()
            if not self.text.startswith(":", self.at):
                self.fail("something is missing here", "':'")
            self.at += 1
            found[name] = self.value(depth)
        return found

    def array(self, depth: int) -> list[Node]:
        found: list[Node] = []
        self.at += 1
        while not self.closes("]", first=not found):
            found.append(self.value(depth))
        return found

    def closes(self, bracket: str, first: bool) -> bool:
        """Step over a closing bracket, or over the comma before the next item."""
        self.skip()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        if not first:
            if not self.text.startswith(",", self.at):
                self.fail("something is missing here", f"',' or '{bracket}'")
            self.at += 1
            self.skip()
        return False

    def string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            self.fail("this is no string that ends", 'a string in "…"')
        self.at = match.end()
        text = json.loads(match.group()) if "\\" in match[1] else match[1]
        try:
            text.encode()
        except UnicodeEncodeError:
            self.at = match.start()
            self.fail("this string has half of a surrogate pair", "whole characters")
        return text
