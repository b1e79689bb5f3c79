"""A JSON document by the standard library's reader, and what is asked of the values in it.

A value knows its path in the document, so that a mistake is told with its line and column; these
are looked up only then. Numbers never become floats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeVar

from clew.machines.formats.numbers import LONGEST
from clew.machines.formats.text import LIMITS, Limits, ParseError, Place, place_at
from clew.validate import hint

T = TypeVar("T")

DIGITS = 4000
"""Of a fraction, at most: Python itself refuses to convert much longer ones."""
_FRACTION = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r"[A-Za-z0-9_.+-]+|.|\Z", re.DOTALL)


class Wrong(str):
    """Stands for a value that JSON allows and we do not; says why."""

    __slots__ = ()


KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "a whole number",
    Fraction: "a number with decimals",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True)
class Node:
    """A value and its path in the document."""

    value: object
    path: tuple[str | int, ...]
    document: str

    def at(self, key: str | int, value: object) -> Node:
        """A value in this one."""
        return Node(value, (*self.path, key), self.document)

    @property
    def place(self) -> Place:
        """Line and column of the value, looked up in the document."""
        return place_at(self.document, _find(self.document, self.path))

    def fail(self, message: str, expected: str = "") -> NoReturn:
        """Refuse this value."""
        token = _token(self.document, _find(self.document, self.path))
        found = (self.value or '""') if type(self.value) is str else token
        raise ParseError(message, self.place, found, expected)


def parse_json(text: str, limits: Limits = LIMITS) -> Node:
    """The one value that `text` is."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > limits.depth:
            raise ParseError(
                f"this is nested more than {limits.depth} deep",
                place_at(text, match.start()),
                match[0],
                "less nesting",
            )
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=lambda name: Wrong(f"{name} is no number of JSON"),
        )
    except json.JSONDecodeError as error:
        place, found = place_at(text, error.pos), _token(text, error.pos)
        raise ParseError(f"this is no JSON: {error.msg}", place, found) from None
    return Node(value, (), text)


def of_kind(node: Node, kind: type[T]) -> T:
    """The value, if it is of that kind of JSON value."""
    if isinstance(node.value, Wrong):
        node.fail(str(node.value))
    if type(node.value) is not kind:
        node.fail(f"this is {KINDS[type(node.value)]}", KINDS[kind])
    return node.value


def fields(node: Node, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Node]:
    """The fields of an object, which has all the needed ones and no unknown ones."""
    found = members(node)
    known = (*needed, *optional)
    for name, value in found.items():
        if name not in known:
            value.fail(f"unknown field {name!r}{hint(name, known)}", "one of " + ", ".join(known))
    for name in needed:
        if name not in found:
            node.fail(f"the field {name!r} is missing", "an object with " + ", ".join(needed))
    return found


def members(node: Node) -> dict[str, Node]:
    """The members of an object, whatever their names."""
    found = {str(name): node.at(str(name), value) for name, value in of_kind(node, dict).items()}
    for name, value in found.items():
        _check_characters(value, name)
    return found


def items(node: Node, length: int | None = None, what: str = "") -> list[Node]:
    """The items of an array, of a certain length if one is given."""
    found = of_kind(node, list)
    if length is not None and len(found) != length:
        node.fail(f"this array has {len(found)} items", f"{length}: {what}")
    return [node.at(place, value) for place, value in enumerate(found)]


def text(node: Node) -> str:
    """A string of whole characters."""
    found = of_kind(node, str)
    _check_characters(node, found)
    return found


def texts(node: Node) -> tuple[str, ...]:
    """An array of strings."""
    return tuple(text(item) for item in items(node))


def names(node: Node) -> dict[str, int]:
    """An array of distinct strings, at least one, with their numbers."""
    found: dict[str, int] = {}
    for item in items(node):
        if text(item) in found:
            item.fail("this name is listed twice", "a new name")
        found[text(item)] = len(found)
    if not found:
        node.fail("there must be at least one name", "an array of names")
    return found


def pick(node: Node, index: Mapping[str, int], kind: str) -> int:
    """The number of a name that has been declared."""
    name = text(node)
    if name not in index:
        near = hint(name, index)
        node.fail(f"this is no {kind}{near}", f"one of the {len(index)} names declared")
    return index[name]


def fraction(node: Node) -> Fraction:
    """A fraction: text such as "3/8", or a number, which is read as the decimal it is."""
    if type(node.value) is int or type(node.value) is Fraction:
        return Fraction(node.value)
    written = of_kind(node, str)
    match = _FRACTION.fullmatch(written) if len(written) <= DIGITS else None
    if match is None or not int(match[2] or "1"):
        node.fail("this is no fraction", 'text such as "3/8" or "-2"')
    return Fraction(int(match[1]), int(match[2] or "1"))


def probability(node: Node) -> Fraction:
    """A fraction above 0 and at most 1."""
    value = fraction(node)
    if not 0 < value <= 1:
        node.fail("this is not a positive probability", "above 0 and at most 1")
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | Wrong:
    found = dict(pairs)
    if len(found) < len(pairs):
        listed = [name for name, _ in pairs]
        twice = next(name for name in listed if listed.count(name) > 1)
        return Wrong(f"{twice!r} stands twice in this object")
    return found


def _integer(digits: str) -> int | Wrong:
    return int(digits) if len(digits) <= LONGEST else Wrong("this number is too long")


def _decimal(digits: str) -> Fraction | Wrong:
    exponent = digits.lower().partition("e")[2] or "0"
    if len(digits) > LONGEST or len(exponent) > 4 or abs(int(exponent)) > LONGEST:
        return Wrong("this number is too long")
    return Fraction(digits)


def _check_characters(node: Node, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        node.fail("this string has half of a surrogate pair", "whole characters")


def _token(document: str, start: int) -> str:
    match = _TOKEN.match(document, start)
    return match[0] if match else ""


def _find(document: str, path: Sequence[str | int]) -> int:
    """Where the value of a path begins, in a document that was read already."""
    decoder = json.JSONDecoder()
    at = _skip(document, 0)
    for key in path:
        at, nth = _skip(document, at + 1), 0
        while True:
            name: str | int = nth
            if isinstance(key, str):
                name, at = decoder.raw_decode(document, at)
                at = _skip(document, _skip(document, at) + 1)
            if name == key:
                break
            at = decoder.raw_decode(document, at)[1]
            at, nth = _skip(document, _skip(document, at) + 1), nth + 1
    return at


def _skip(document: str, at: int) -> int:
    blank = _BLANK.match(document, at)
    return blank.end() if blank else at
