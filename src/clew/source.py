"""What a module says of itself in its source, read without importing it.

Listing what there is to choose from must not import jax, which takes a second or two. So names,
descriptions and options are read off the syntax tree.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from importlib.abc import InspectLoader
from typing import NamedTuple

Definition = ast.ClassDef | ast.FunctionDef


class Registered(NamedTuple):
    """One use of the decorator `@register("NAME", option=value)`."""

    name: str
    attribute: str
    """The class or function that is decorated."""
    preset: dict[str, object]


class Outline(NamedTuple):
    """A class or a function, as a list of what there is shows it."""

    about: str
    """First paragraph of the docstring, in one line."""
    options: tuple[str, ...]
    """What it can be made with."""


@cache
def syntax(module: str) -> ast.Module:
    """The syntax tree of a module, found by its dotted name."""
    spec = importlib.util.find_spec(module)
    loader = spec.loader if spec else None
    source = loader.get_source(module) if isinstance(loader, InspectLoader) else None
    if source is None:
        raise ImportError(f"the source of the module {module!r} cannot be read", name=module)
    return ast.parse(source)


def registered(module: str) -> list[Registered] | None:
    """What the module's decorators register; None if that is only known once it is imported."""
    found: list[Registered] = []
    for node in (each for each in syntax(module).body if isinstance(each, Definition)):
        for call in node.decorator_list:
            if not isinstance(call, ast.Call) or _last_name(call.func) != "register":
                continue
            try:
                (name,) = (ast.literal_eval(each) for each in call.args)
                preset = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            except ValueError:
                return None
            found.append(Registered(name, node.name, preset))
    return found


def outline(target: str) -> Outline:
    """Describe the class or function `"module:name"`."""
    module, _, name = target.partition(":")
    node = _definition(module, name)
    if node is None:
        return Outline("", ())
    return Outline(first_paragraph(ast.get_docstring(node)), tuple(_options(module, node)))


def keys_of(target: str, variable: str) -> tuple[str, ...]:
    """The keys of a dictionary that is written out in the body of the class `"module:name"`."""
    module, _, name = target.partition(":")
    node = _definition(module, name)
    for statement in node.body if node else ():
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if variable in map(_last_name, targets) and isinstance(statement.value, ast.Dict):
            keys = statement.value.keys
            return tuple(str(key.value) for key in keys if isinstance(key, ast.Constant))
    return ()


def type_checking_imports(module: str) -> dict[str, str]:
    """Names that are imported under `if TYPE_CHECKING`, and the module that each is in."""
    found: dict[str, str] = {}
    for node in syntax(module).body:
        if isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom):
                    found |= {each.name: str(line.module) for each in line.names}
    return found


def first_paragraph(docstring: str | None) -> str:
    """The first paragraph, in one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())


def _definition(module: str, name: str) -> Definition | None:
    for node in syntax(module).body:
        if isinstance(node, Definition) and node.name == name:
            return node
    return None


def _options(module: str, node: Definition) -> Iterator[str]:
    """Parameters of a function or of a class's `__init__`; else the fields of a dataclass."""
    if isinstance(node, ast.FunctionDef):
        yield from _parameters(node)
        return
    for line in node.body:
        if isinstance(line, ast.FunctionDef) and line.name == "__init__":
            yield from _parameters(line, skip=1)
            return
    for base in node.bases:
        yield from _options_of_base(module, _last_name(base))
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation):
            yield _last_name(line.target)


def _options_of_base(module: str, name: str) -> Iterator[str]:
    """Fields that a class inherits, if its base is defined or imported by name in the module."""
    for line in syntax(module).body:
        if isinstance(line, ast.ImportFrom) and name in [each.name for each in line.names]:
            module = str(line.module)
    if module.startswith(f"{__package__}.") and (node := _definition(module, name)):
        yield from _options(module, node)


def _parameters(function: ast.FunctionDef, skip: int = 0) -> Iterator[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    yield from (each.arg for each in every[skip:])


def _last_name(node: ast.expr) -> str:
    """`register` of `memory.register`, `Bonus` of `Bonus[State]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
