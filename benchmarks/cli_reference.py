"""Write the page of all commands and their arguments, from the commands themselves.

python benchmarks/cli_reference.py > docs/reference/cli.md
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator

from clew.cli.parsing import _hints, unwrapped
from clew.cli.registry import COMMANDS
from clew.outline import field_meanings, outline_of

HEAD = """# Command line

Every command with every argument. `clew COMMAND --help` prints the same in a terminal, and
[the commands by example](../howto/commands.md) shows what they print.

- `clew --help` lists the commands. `clew --version` prints versions and devices.
- `--module NAME`, with any command, first imports a [module of yours](../howto/plugins.md).
- The exit code is 0 if all is well. It is 2 after a mistake, which is answered in one sentence.
  [The commands by example](../howto/commands.md) has the others.

This page is made by `python benchmarks/cli_reference.py > docs/reference/cli.md`.
"""
VALUES = {"Path": "PATH", "str": "TEXT", "int": "NUMBER", "float": "NUMBER"}


def page() -> str:
    return "\n".join([HEAD, *map(section, COMMANDS.names())])


def section(name: str) -> str:
    command = COMMANDS[name].factory()
    outline = outline_of(command)
    rows = list(arguments(command))
    usage = " ".join((f"clew {name}", *(row[0] for row in rows if not row[0].startswith("-"))))
    options = " [OPTIONS]" if any(row[0].startswith("-") for row in rows) else ""
    lines = [f"## clew {name}", "", outline.about, ""]
    if outline.description:
        lines += [unwrapped(outline.description), ""]
    lines += ["```text", usage + options, "```", ""]
    if rows:
        lines += ["| argument | meaning | default |", "|---|---|---|"]
        lines += [f"| `{flag}` | {about} | {default} |" for flag, about, default in rows]
        lines.append("")
    return "\n".join(lines)


def arguments(command: typing.Callable[..., None]) -> Iterator[tuple[str, str, str]]:
    """How each argument is typed, what it means, and what it is if not given."""
    hints = _hints(command)
    abouts = {option.name: option.about for option in outline_of(command).options}
    for name, parameter in inspect.signature(command).parameters.items():
        default = parameter.default
        if dataclasses.is_dataclass(default):
            kinds, meanings = typing.get_type_hints(type(default)), field_meanings(type(default))
            for field in dataclasses.fields(default):
                value = getattr(default, field.name)
                flag = typed(f"--{name}.{field.name}", kinds[field.name], value)
                yield flag, " ".join(meanings.get(field.name, "").split()), shown(value)
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            yield word(hints[name]), abouts[name], shown(default)
        else:
            yield typed(f"--{name}", hints[name], default), abouts[name], shown(default)


def typed(flag: str, hint: object, default: object) -> str:
    flag = flag.replace("_", "-")
    if isinstance(default, bool):
        return f"{flag.replace('--', '--no-')}" if default else flag
    return f"{flag} {word(hint)}"


def word(hint: typing.Any) -> str:
    """What stands for a value."""
    arguments = typing.get_args(hint)
    for note in getattr(hint, "__metadata__", ()):
        return str(note.metavar).replace("|", " or ")  # tables are made of |
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return f"{{{','.join(map(str, arguments))}}}" if len(arguments) > 1 else arguments[0]
    if origin in (typing.Union, types.UnionType):
        return word(next(each for each in arguments if each is not types.NoneType))
    if origin is tuple:
        return f"{word(arguments[0])} …"
    if origin is dict:
        return "NAME VALUE …"
    return VALUES.get(getattr(hint, "__name__", ""), "VALUE")


def shown(default: object) -> str:
    if default is inspect.Parameter.empty:
        return "*must be given*"
    if default is None or default is False or default in ((), {}, ""):
        return ""
    if default is True:
        return "on"
    if isinstance(default, tuple):
        return ", ".join(f"`{each}`" for each in default)
    return f"`{default}`"


if __name__ == "__main__":
    print(page(), end="")
