"""From what was typed to a command's arguments: tyro does it, and mistakes become sentences."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import re
import types
import typing
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import FlagCreatePairsOff, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from clew.plugins import FLAG
from clew.validate import BadInput, hint, listing

Command = Callable[..., None]

# How arguments that have no flag are shown.
SuiteName = Annotated[str, arg(metavar="SUITE")]
RunName = Annotated[str, arg(metavar="RUN")]
WorldName = Annotated[str, arg(metavar="ENVIRONMENT")]
StorePath = Annotated[Path, arg(metavar="[STORE]")]
ResultsPath = Annotated[Path, arg(metavar="[STORE|FILE]")]
SourcePath = Annotated[Path, arg(metavar="FROM")]
IntoPath = Annotated[Path, arg(metavar="INTO")]
Subject = Annotated[str, arg(metavar="NAME")]
Listable = Annotated[str, arg(metavar="[NAME]")]

KINDS = {
    int: "a whole number such as 1000",
    float: "a number such as 0.5",
    str: "text",
    Path: "a path",
}
DEVICES = ("--device", "--gpu", "--cuda", "--cpu")
SIDES, RULES = "│ ", "╰╯─-"


def parse(command: Command, typed: Sequence[str], prog: str) -> Callable[[], None]:
    """The call that was meant. Prints the help and exits if that was asked for."""
    _refuse_unknown_flags(command, typed, prog)

    def later(*args: object, **options: object) -> Callable[[], None]:
        return partial(command, *args, **options)

    later.__doc__ = unwrapped(command.__doc__)
    hints = _hints(command).items()
    # tyro checks `int | None` by a package that is slow to import, and not `Optional[int]`
    later.__annotations__ = {
        name: typing.Union[typing.get_args(kind)] if isinstance(kind, types.UnionType) else kind  # noqa: UP007
        for name, kind in hints
    }
    later.__signature__ = inspect.signature(command)  # type: ignore[attr-defined]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            args = _together(command, typed)
            return tyro.cli(  # --json, and no --no-json beside it
                later, args=args, prog=prog, registry=registry, config=(FlagCreatePairsOff,)
            )  # type: ignore
    except SystemExit as ended:
        if not ended.code:
            raise
        raise BadInput(_sentence(command, printed.getvalue(), prog)) from None


def unwrapped(docstring: str | None) -> str:
    """A docstring with each paragraph and each argument's description on one line."""
    lines: list[str] = []
    for line in inspect.cleandoc(docstring or "").splitlines():
        indent = len(line) - len(line.lstrip())
        if not line or indent == 4 or not lines or not lines[-1]:
            lines.append(line)
        else:
            lines[-1] += " " + line.strip()
    return "\n".join(lines)


def flags(command: Command) -> Iterator[str]:
    """Every flag of a command."""
    yield from ("-h", "--help")
    for name, parameter in inspect.signature(command).parameters.items():
        default = parameter.default
        if parameter.kind is parameter.POSITIONAL_ONLY:
            continue
        if dataclasses.is_dataclass(default):
            for field in dataclasses.fields(default):
                yield from _spellings(field.name, getattr(default, field.name), f"--{name}.")
        else:
            yield from _spellings(name, default)


def _spellings(name: str, default: object, before: str = "--") -> Iterator[str]:
    yield f"{before}{'no-' if default is True else ''}{name.replace('_', '-')}"


def _refuse_unknown_flags(command: Command, typed: Sequence[str], prog: str) -> None:
    known = (*flags(command), FLAG)
    for word in typed:
        flag = word.partition("=")[0].replace("_", "-")
        if not re.match(r"-[^\d.]", word) or flag in known:
            continue
        if flag in DEVICES:
            raise BadInput(
                f"{prog} has no flag {flag!r}: jax takes a GPU if it finds one, which `clew "
                "--version` shows, and JAX_PLATFORMS=cpu before the command keeps it off"
            )
        near = hint(flag.strip("-"), (each.strip("-") for each in known)).replace("n '", "n '--")
        raise BadInput(f"{prog} has no flag {flag!r}{near}; `{prog} --help` lists them")


def _together(command: Command, typed: Sequence[str]) -> list[str]:
    """With the values of a flag that takes several and was given several times behind one."""
    parameters = inspect.signature(command).parameters.values()
    several = {f for p in parameters if p.default == () for f in _spellings(p.name, ())}
    rest: list[str] = []
    values: dict[str, list[str]] = {}
    into = rest
    for word in typed:
        flag, mark, value = word.partition("=")
        if (flag := flag.replace("_", "-")) in several:
            into = values.setdefault(flag, [])
            into += [value] if mark else []
            continue
        if re.match(r"-[^\d.]", word):
            into = rest
        into.append(word)
    return [*rest, *(word for flag, given in values.items() for word in (flag, *given))]


def _sentence(command: Command, box: str, prog: str) -> str:
    """What tyro says in the first paragraph of a box, in a sentence."""
    lines = (line.strip(SIDES) for line in box.splitlines()[1:])
    # rules part the paragraphs; on a terminal without boxes, one stands below the title too
    paragraphs = groupby(lines, lambda line: bool(line.strip(RULES)))
    said = next((" ".join(lines) for is_text, lines in paragraphs if is_text), "")
    see = f"; see `{prog} --help`"
    if said.startswith("Missing from"):
        missing = [name for name in _required(command) if name in said.split()]
        *more, last = missing or ["another argument"]
        return f"{prog} needs {' and '.join(filter(None, (', '.join(more), last)))}{see}"
    if found := re.fullmatch(r"Unrecognized options: (.*)", said):
        pairs = re.fullmatch(r"\w+=\S+(, \w+=\S+)*", found[1])
        those = [each for each in flags(command) if pairs and each.endswith("options")]
        mean = f"; options follow {' or '.join(those)}" if those else ""
        return f"{prog} does not know what to do with {found[1]!r}{mean}{see}"
    if said.endswith("Failed to parse key-value pairs!"):
        return f"{said.split(':')[0].split()[-1]} needs pairs, NAME VALUE{see}"
    if found := re.fullmatch(r"Missing value for argument '(.*)'\. .*", said):
        return f"{found[1]} needs a value{see}"
    if found := re.fullmatch(r"invalid choice (.*) for argument '(.*)'\. .* (\(.*\))\.", said):
        return f"{found[2]}={found[1]} is not valid; choose {listing(literal_eval(found[3]))}"
    return said.removeprefix("Error parsing ") or f"{prog} cannot be called like this{see}"


def _hints(command: Command) -> dict[str, object]:
    """Types of the arguments; those above are known to a command that does not import them."""
    return typing.get_type_hints(command, localns={"Listable": Listable}, include_extras=True)


def _required(command: Command) -> Iterator[str]:
    """Arguments without a default, as the help shows them."""
    hints = _hints(command)
    for name, parameter in inspect.signature(command).parameters.items():
        if parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            notes = typing.get_args(hints[name])[1:]
            yield next((str(note.metavar) for note in notes if hasattr(note, "metavar")), name)
        else:
            yield from _spellings(name, None)


STANDARD_OUTPUT = Path("-")


def _json_file(given: list[str]) -> Path:
    if len(given) > 1 or (given and not given[0].endswith(".json")):
        # what else follows is the results' own name: never write over it
        raise ValueError(
            f"{given[0]!r} does not end in .json; name the results before --json, and a .json "
            "file behind it, or nothing"
        )
    return Path(given[0]) if given else STANDARD_OUTPUT


JsonFile = Annotated[
    Path | None,
    PrimitiveConstructorSpec(
        nargs="*",
        metavar="[FILE]",
        instance_from_str=_json_file,
        is_instance=lambda value: value is None or isinstance(value, Path),
        str_from_instance=lambda value: [] if value is None else [str(value)],
    ),
]
"""`--json` alone prints (`STANDARD_OUTPUT`), `--json FILE` writes a file."""

registry = ConstructorRegistry()
"""For tyro: mistyped numbers are refused in words, and what may be left out is not `None`."""


@registry.primitive_rule
def _one_value(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[object] | None:
    kind, optional = info.type, False
    if info.type_origin in (typing.Union, types.UnionType):
        kind, *more = (one for one in typing.get_args(kind) if one is not types.NoneType)
        optional = True
        if more:
            return None
    if kind not in KINDS or (not optional and kind not in (int, float)):
        return None

    def read(given: list[str]) -> object:
        try:
            if kind is int and (number := float(given[0])).is_integer() and "e" in given[0].lower():
                return int(number)  # 1e6
            return kind(given[0])
        except (ValueError, OverflowError):
            raise ValueError(f"{given[0]!r} is not {KINDS[kind]}") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, kind) or (optional and value is None),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    )
