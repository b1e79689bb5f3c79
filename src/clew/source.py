"""What a module says of itself in its source, read without importing it.

Listing what there is to choose from must not import jax, which takes a second or two. So names,
descriptions, options and prices are read off the syntax tree.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, PathFinder
from typing import NamedTuple, TypeGuard

Definition = ast.ClassDef | ast.FunctionDef


class Assigned(NamedTuple):
    """A variable: its type and value as they are written, and the text below it."""

    type: str
    value: ast.expr | None
    about: str


class Registered(NamedTuple):
    """One use of the decorator `@register("NAME", option=value)`."""

    name: str
    attribute: str
    """The class or function that is decorated."""
    preset: dict[str, object]


@cache
def syntax(module: str) -> ast.Module:
    """The syntax tree of a module, found by its dotted name."""
    spec = find_spec(module)
    loader = spec.loader if spec else None
    source = loader.get_source(module) if isinstance(loader, InspectLoader) else None
    if source is None:
        raise ImportError(f"the source of the module {module!r} cannot be read", name=module)
    return ast.parse(source)


def find_spec(module: str) -> ModuleSpec | None:
    """Where a module is. Unlike importlib's own, it does not import the packages around it."""
    name, *inner = module.split(".")
    spec = importlib.util.find_spec(name)
    for part in inner:
        if spec is None:
            return None
        name += f".{part}"
        spec = PathFinder.find_spec(name, spec.submodule_search_locations or [])
    return spec


def registered(module: str) -> list[Registered] | None:
    """What the module's decorators register; None if that is only known once it is imported."""
    found: list[Registered] = []
    for node in (each for each in syntax(module).body if isinstance(each, Definition)):
        for call in node.decorator_list:
            if not isinstance(call, ast.Call) or last_name(call.func) != "register":
                continue
            try:
                (name,) = (ast.literal_eval(each) for each in call.args)
                preset = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            except ValueError:
                return None
            found.append(Registered(name, node.name, preset))
    return found


def calls(module: str, function: str) -> Iterator[list[ast.expr]]:
    """The arguments of every line of the module that only calls the function."""
    for line in syntax(module).body:
        call = line.value if isinstance(line, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call.func) == function:
            yield call.args


def type_checking_imports(module: str) -> dict[str, str]:
    """Names that are imported under `if TYPE_CHECKING`, and the module that each is in."""
    found: dict[str, str] = {}
    for node in filter(_is_for_types, syntax(module).body):
        for line in node.body:
            if isinstance(line, ast.ImportFrom):
                found |= {each.name: str(line.module) for each in line.names}
    return found


def first_paragraph(docstring: str | None) -> str:
    """The first paragraph, in one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())


def definition(target: str) -> tuple[str, Definition]:
    """The class or function `"module:name"`, after the module that it is written in."""
    module, _, name = target.partition(":")
    for node in syntax(module).body:
        if isinstance(node, Definition) and node.name == name:
            return module, node
    raise ImportError(f"{module!r} does not define {name!r}", name=module)


def resolved(target: str) -> str:
    """Where `"module:name"` is written, if the module only imports it, at once or on use.

    Other packages than this one and the module's own are not looked into.
    """
    module, _, name = target.partition(":")
    body = syntax(module).body
    late = [line for node in body if _is_for_types(node) for line in node.body]
    for line in [each for each in (*body, *late) if isinstance(each, ast.ImportFrom)]:
        for each in line.names:
            if (each.asname or each.name) == name:
                there = f"{_imported_from(module, line)}:{each.name}"
                return resolved(there) if _is_near(there, module) else there
    return target


def bases(module: str, node: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """The class itself and before it what it inherits from, as far as that is of this package or
    of the class's own."""
    for base in node.bases:
        with suppress(ImportError):
            named = _named(module, base)
            found, inherited = definition(named) if _is_near(named, module) else (module, None)
            if isinstance(inherited, ast.ClassDef):
                yield from bases(found, inherited)
    yield module, node


def assigned(node: ast.ClassDef | ast.Module) -> dict[str, Assigned]:
    """Every variable of a body that is given a value or a type, with what is said of it."""
    found: dict[str, Assigned] = {}
    for line, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(line, ast.Assign | ast.AnnAssign):
            continue
        targets = line.targets if isinstance(line, ast.Assign) else [line.target]
        type_ = ast.unparse(line.annotation) if isinstance(line, ast.AnnAssign) else ""
        said = after.value if isinstance(after, ast.Expr) else None
        about = said.value if isinstance(said, ast.Constant) else None
        text = inspect.cleandoc(about) if isinstance(about, str) else ""
        found |= {last_name(target): Assigned(type_, line.value, text) for target in targets}
    return found


def value(module: str, node: ast.expr) -> object:
    """What an expression comes to if it is written out, there or in a variable; else its text."""
    if isinstance(node, ast.Name) and (known := assigned(syntax(module)).get(node.id)):
        return value(module, known.value) if known.value else ast.unparse(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


class StandIn:
    """In place of an object whose class is not imported: its fields, and what follows from them."""

    def __init__(self, target: str, fields: Mapping[str, object]) -> None:
        """Properties are computed where they are an expression; anything else is an error."""
        self.__dict__ |= fields
        self._methods = {
            line.name: line
            for _, node in bases(*_class(target))
            for line in node.body
            if isinstance(line, ast.FunctionDef)
        }

    def __getattr__(self, name: str) -> object:
        last = self._methods[name].body[-1] if name in self._methods else None
        if not isinstance(last, ast.Return) or last.value is None:
            raise AttributeError(name)
        return evaluate(ast.Lambda(self._methods[name].args, last.value))(self)


def evaluate(function: ast.Lambda) -> Callable[..., object]:
    """A function that is written as an expression; it knows its arguments and nothing else."""
    tree = ast.fix_missing_locations(ast.Expression(function))
    return eval(compile(tree, "<source>", "eval"), {"__builtins__": {}})


def _is_for_types(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"


def _is_near(target: str, module: str) -> bool:
    """Whether it is of this package, or of the module's own."""
    first = target.partition(":")[0].split(".")[0]
    return first in (__package__, module.split(".")[0])


def _named(module: str, node: ast.expr) -> str:
    """What an expression names, as `"module:name"`."""
    if isinstance(node, ast.Subscript):
        return _named(module, node.value)
    if isinstance(node, ast.Attribute):
        return resolved(f"{_named(module, node.value).replace(':', '.')}:{node.attr}")
    return resolved(f"{module}:{last_name(node)}")


def _imported_from(module: str, line: ast.ImportFrom) -> str:
    if not line.level:
        return str(line.module)
    spec = find_spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    inside = module if is_package else module.rpartition(".")[0]
    return importlib.util.resolve_name("." * line.level + (line.module or ""), inside)


def _class(target: str) -> tuple[str, ast.ClassDef]:
    module, node = definition(target)
    assert isinstance(node, ast.ClassDef)
    return module, node


def last_name(node: ast.expr) -> str:
    """`register` of `memory.register`, `Bonus` of `Bonus[State]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
