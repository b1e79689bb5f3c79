"""What is asked of a JSON value: its fields, its kind, the names and fractions in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from clew.machines.formats.clewjson.text import KINDS, Node
from clew.validate import hint

DIGITS = 4000
"""Of a fraction, at most: Python itself refuses to convert much longer ones."""
_FRACTION = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)


def fields(node: Node, needed: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Node]:
    """The fields of an object, which has all the needed ones and no unknown ones."""
    found: Mapping[str, Node] = of_kind(node, dict)
    known = (*needed, *optional)
    for name, value in found.items():
        if name not in known:
            value.fail(f"unknown field {name!r}{hint(name, known)}", "one of " + ", ".join(known))
    for name in needed:
        if name not in found:
            node.fail(f"the field {name!r} is missing", "an object with " + ", ".join(needed))
    return found


def of_kind(node: Node, kind: type) -> Any:
    """The value, if it is of that kind of JSON value."""
    if type(node.value) is not kind:
        node.fail(f"this is {KINDS[type(node.value)]}", KINDS[kind])
    return node.value


def items(node: Node, length: int | None = None, what: str = "") -> list[Node]:
    """The items of an array, of a certain length if one is given."""
    found: list[Node] = of_kind(node, list)
    if length is not None and len(found) != length:
        node.fail(f"this array has {len(found)} items", f"{length}: {what}")
    return found


def texts(node: Node) -> tuple[str, ...]:
    """An array of strings."""
    return tuple(of_kind(item, str) for item in items(node))


def names(node: Node) -> dict[str, int]:
    """An array of distinct strings, at least one, with their numbers."""
    found: dict[str, int] = {}
    for item in items(node):
        if of_kind(item, str) in found:
            item.fail("this name is listed twice", "a new name")
        found[item.value] = len(found)
    if not found:
        node.fail("there has to be one", "an array of names")
    return found


def pick(node: Node, index: Mapping[str, int], kind: str) -> int:
    """The number of a name that has been declared."""
    if of_kind(node, str) not in index:
        near = hint(node.value, index)
        node.fail(f"this is no {kind}{near}", f"one of the {len(index)} names declared")
    return index[node.value]


def fraction(node: Node) -> Fraction:
    """A fraction: text such as "3/8", or a number, which is read as the decimal it is."""
    if type(node.value) is Fraction:
        return node.value
    text = of_kind(node, str)
    match = _FRACTION.fullmatch(text) if len(text) <= DIGITS else None
    if match is None or not int(match[2] or "1"):
        node.fail("this is no fraction", 'text such as "3/8" or "-2"')
    return Fraction(int(match[1]), int(match[2] or "1"))


def probability(node: Node) -> Fraction:
    """A fraction above 0 and at most 1."""
    value = fraction(node)
    if not 0 < value <= 1:
        node.fail("this is no probability of something that can happen", "above 0 and at most 1")
    return value
