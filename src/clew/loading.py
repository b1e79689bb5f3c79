"""From TOML and JSON to dataclasses, with errors that name the field, the value and what is valid.

Types are checked and never converted: "3" is no number, and True is no 1. A union, a `Literal` or a
tuple of a union is handed on as it is, and checked by the class that it belongs to.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar, Union

import cattrs
from cattrs import cols
from cattrs.gen import typeddicts

from clew.validate import BadInput, known_names

T = TypeVar("T")
Hook = Callable[[object, type], object]
WHOLE = "a whole number"


def load(data: object, kind: type[T], name: str) -> T:
    """A dataclass from plain data; `name` is what a sentence about an error calls it."""
    try:
        return _converter.structure(data, kind)
    except Exception as error:
        raise _explained(error, kind, name, "") from None


def read_toml(path: Path) -> dict[str, object]:
    """What a TOML file holds."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})") from None
    except RecursionError:
        raise BadInput(f"{path}: it is nested too deep") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text; save it again as UTF-8") from None
    except ValueError as error:
        # or a number of thousands of digits
        raise BadInput(f"{path} is not valid TOML: {error}; mend that line") from None


class _Mistyped(Exception):  # noqa: N818
    """A value that is not what its type says; where it stands is known further up."""

    def __init__(self, value: object, valid: str) -> None:
        self.value, self.valid = value, valid


def _explained(error: BaseException, kind: type, name: str, path: str) -> BaseException:
    """The first mistake, as a sentence; anything that is none, as it is."""
    if isinstance(error, cattrs.BaseValidationError):
        kind = error.cl if dataclasses.is_dataclass(error.cl) else kind
        # a misspelt name explains a missing one
        first = min(error.exceptions, key=lambda e: not isinstance(e, _Unknown))
        for note in getattr(first, "__notes__", ()):
            if isinstance(note, cattrs.AttributeValidationNote):
                path = f"{path}.{note.name}" if path else note.name
            elif isinstance(note, cattrs.IterableValidationNote):
                path += f"[{note.index}]" if isinstance(note.index, int) else f".{note.index}"
        return _explained(first, kind, name, path)
    if isinstance(error, _Mistyped):
        field, value = path or name, error.value
        written = ""
        if error.valid == WHOLE and isinstance(value, float) and value.is_integer():
            written = f": write {int(value)}"  # as 1e6 is none in TOML
        return BadInput(f"{field}={value!r} is not valid; it must be {error.valid}{written}")
    if isinstance(error, _Unknown):
        try:
            fields = [field.name for field in dataclasses.fields(kind)]
            known_names(f"field of {path or name}", sorted(error.extra_fields), fields)
        except BadInput as unknown:
            return unknown
    if isinstance(error, KeyError):
        return BadInput(f"{path} is missing{_needed(kind)}")
    return error


def _needed(kind: type) -> str:
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    needed = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    return f"; needed are {', '.join(needed)}" if len(needed) > 1 else ""


_Unknown = cattrs.ForbiddenExtraKeysError


def _only(valid: str, *kinds: type) -> Hook:
    """Of these types, and handed on as it is."""

    def hook(value: object, _: type) -> object:
        if type(value) not in kinds:
            raise _Mistyped(value, valid)
        return value

    return hook


def _within(
    factory: Callable[..., Callable[..., object]], valid: str, *kinds: type
) -> Callable[[type, cattrs.Converter], Hook]:
    """What the factory makes of a type, for values of these kinds."""

    def make(kind: type, converter: cattrs.Converter) -> Hook:
        inner = factory(kind, converter)

        def hook(value: object, _: type) -> object:
            if not isinstance(value, kinds):
                raise _Mistyped(value, valid)
            return inner(value, kind)

        return hook

    return make


def _is_tuple(kind: object) -> bool:
    return typing.get_origin(kind) is tuple


def _is_loose(kind: object) -> bool:
    """Whether its class checks it: a union other than with None, a `Literal`, or a tuple of one."""
    if _is_tuple(kind):
        return _is_loose(typing.get_args(kind)[0])
    union = typing.get_origin(kind) in (Union, types.UnionType)
    alone = union and types.NoneType not in typing.get_args(kind)
    return alone or kind is object or typing.get_origin(kind) is Literal


def _made() -> cattrs.Converter:
    made = cattrs.Converter(forbid_extra_keys=True)
    for kind, hook in (
        (str, _only("text", str)),
        (bool, _only("true or false", bool)),
        (int, _only(WHOLE, int)),
        (float, _only("a number", int, float)),
    ):
        made.register_structure_hook(kind, hook)
    table, several = ("a table", Mapping), ("a list", list, tuple)
    for fits, factory in (
        (dataclasses.is_dataclass, _within(cattrs.gen.make_dict_structure_fn, *table)),
        (cols.is_mapping, _within(cols.mapping_structure_factory, *table)),
        (cols.is_sequence, _within(cols.list_structure_factory, *several)),
        (_is_tuple, _within(cols.homogenous_tuple_structure_factory, *several)),
        (typing.is_typeddict, _within(typeddicts.make_dict_structure_fn, *table)),
    ):
        made.register_structure_hook_factory(fits, factory)
    made.register_structure_hook_func(
        _is_loose,
        lambda value, kind: tuple(value) if _is_tuple(kind) and isinstance(value, list) else value,
    )
    return made


_converter = _made()
