"""What a list says of a class or function: what it is, and the options it can be made with.

Read off the source where the module is not imported, else off the object: both say the same.
What an option means stands below the field of a dataclass, or in the `Args:` of a docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from clew.source import assigned, bases, definition, first_paragraph, value

ARGS = "\nArgs:\n"
REQUIRED = inspect.Parameter.empty
"""In place of the default of an option that has none."""


class Option(NamedTuple):
    """Something that can be chosen."""

    name: str
    type: str
    """As it is written."""
    default: object
    """Or `REQUIRED`."""
    about: str


class Outline(NamedTuple):
    """A class or a function, as a list of what there is shows it."""

    about: str = ""
    """First paragraph of the docstring, in one line."""
    description: str = ""
    """The rest of it, without its `Args:`."""
    options: tuple[Option, ...] = ()


def read_outline(target: str) -> Outline:
    """Describe the class or function `"module:name"`, without importing it."""
    module, node = definition(target)
    docstring = ast.get_docstring(node) or ""
    meanings = arguments(docstring)
    if isinstance(node, ast.ClassDef):
        own = [line for line in node.body if isinstance(line, ast.FunctionDef)]
        init = next((line for line in own if line.name == "__init__"), None)
        if init is None:
            return _outline(docstring, _fields(module, node))
        meanings |= arguments(ast.get_docstring(init) or "")
        return _outline(docstring, _parameters(module, init, meanings, skip=1))
    return _outline(docstring, _parameters(module, node, meanings))


def outline_of(made: Callable[..., object]) -> Outline:
    """Describe a class or function that is imported."""
    docstring = inspect.getdoc(made) or ""
    meanings = {**field_meanings(made), **arguments(docstring)}
    if inspect.isclass(made):
        meanings |= arguments(inspect.getdoc(made.__init__) or "")
    options = (
        Option(each.name, _type(each.annotation), each.default, _line(meanings.get(each.name, "")))
        for each in inspect.signature(made).parameters.values()
    )
    return _outline(docstring, options)


def field_meanings(made: object) -> dict[str, str]:
    """The texts below the fields of an imported class and of those that it inherits from."""
    found: dict[str, str] = {}
    for each in reversed(getattr(made, "__mro__", ())):
        found |= _own_meanings(each)
    return found


@cache
def _own_meanings(made: type) -> dict[str, str]:
    """Of one class; to find its source, `inspect` reads the whole file that it is in."""
    with suppress(OSError, TypeError, SyntaxError):  # built in, or typed into a prompt
        tree = ast.parse(textwrap.dedent(inspect.getsource(made)))
        fields = assigned(tree.body[0]) if isinstance(tree.body[0], ast.ClassDef) else {}
        return {name: field.about for name, field in fields.items() if field.about}
    return {}


def arguments(docstring: str) -> dict[str, str]:
    """What the `Args:` of a docstring say of each."""
    _, _, section = inspect.cleandoc(docstring).partition(ARGS)
    return described(inspect.cleandoc(section))


def described(text: str) -> dict[str, str]:
    """Lines `name: what it means`, each of which may go on in lines that are indented."""
    lines = re.findall(r"^(\w+): (.*(?:\n[ \t].*)*)", text, re.MULTILINE)
    return {name: " ".join(about.split()) for name, about in lines}


def _outline(docstring: str, options: Iterator[Option]) -> Outline:
    text, _, _ = inspect.cleandoc(docstring).partition(ARGS)
    first, _, rest = text.strip().partition("\n\n")
    return Outline(first_paragraph(first), rest.strip("\n"), tuple(options))


def _fields(module: str, node: ast.ClassDef) -> Iterator[Option]:
    """Of a dataclass, those that it inherits first."""
    found: dict[str, Option] = {}
    for where, each in bases(module, node):
        for name, field in assigned(each).items():
            if field.type and "ClassVar" not in field.type:
                default = REQUIRED if field.value is None else value(where, field.value)
                found[name] = Option(name, field.type, default, _line(field.about))
    yield from found.values()


def _parameters(
    module: str, function: ast.FunctionDef, meanings: dict[str, str], skip: int = 0
) -> Iterator[Option]:
    listed = function.args
    places = [*listed.posonlyargs, *listed.args]
    without = [None] * (len(places) - len(listed.defaults))
    pairs = [*zip(places, [*without, *listed.defaults], strict=True)]
    pairs += zip(listed.kwonlyargs, listed.kw_defaults, strict=True)
    for parameter, written in pairs[skip:]:
        default = REQUIRED if written is None else value(module, written)
        kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
        yield Option(parameter.arg, kind, default, meanings.get(parameter.arg, ""))


def _type(annotation: object) -> str:
    if annotation is REQUIRED:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _line(text: str) -> str:
    return " ".join(text.split())
