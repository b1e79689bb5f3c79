"""One text for one configuration. Its hash is a run's identity."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from clew.validate import BadInput

JsonObject = dict[str, Any]
"""A mapping as JSON has it: what a file of a store holds, or a configuration."""
DEPTH = 32
_KINDS = "None, True, False, whole numbers, floats, strings, lists and mappings with string keys"


def canonical(value: object) -> str:
    """The value as JSON: keys sorted, no blanks, floats by their shortest exact decimals.

    1 and 1.0 are different, as are 0.0 and −0.0; a tuple is a list.
    """
    value = plain(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def digest(value: object) -> str:
    """SHA-256 of the canonical text, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def plain(value: object, where: str = "configuration") -> Any:
    """The value made of JSON's own types; anything that would not come back the same is refused."""
    return _plain(value, where, 0)


def differences(one: object, other: object, where: str = "") -> list[str]:
    """The fields in which two plain values differ, in words."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in sorted(one.keys() | other.keys()):
            path = f"{where}.{key}" if where else key
            if key not in one or key not in other:
                found.append(f"only one has {path}")
            else:
                found += differences(one[key], other[key], path)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [text for i, pair in pairs for text in differences(*pair, f"{where}[{i}]")]
    same = canonical(one) == canonical(other)
    return [] if same else [f"{where or 'value'} is {one!r} and {other!r}"]


def _plain(value: object, where: str, depth: int) -> object:
    if depth > DEPTH:
        raise BadInput(f"{where} is nested more than {DEPTH} deep")
    # Exact types: a subclass (an enumeration, one of numpy's) would come back as something else.
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _text(value, where)
    if type(value) is int and -(2**63) <= value < 2**64:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is dict or isinstance(value, Mapping):
        return {_key(k, where): _plain(v, f"{where}.{k}", depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    if type(value) in (int, float):
        raise BadInput(f"{where}={value!r} is not valid; it must be finite and fit in 64 bits")
    raise BadInput(f"{where}={value!r} is a {type(value).__name__}; only {_KINDS} can be stored")


def _key(key: object, where: str) -> str:
    if type(key) is not str:
        raise BadInput(f"{where} has the key {key!r}; keys must be strings")
    return _text(key, where)


def _text(text: str, where: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{where}={text!r} is not valid Unicode") from None
    return text
