"""The `clew` command: one thin file per command under `commands`, imported when it is called."""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from clew.cli.next_steps import typed
from clew.cli.registry import COMMANDS, register
from clew.plugins import FLAG, use_modules
from clew.store.errors import way_out
from clew.validate import BadInput, hint, printable

__all__ = ["COMMANDS", "main", "register"]

QUESTION = "Will an exploration bonus help this agent on this task, or is memory the bottleneck?"


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `clew` command; without arguments, those of the process."""
    try:
        _main(arguments)
    except SystemExit as end:
        ahead = sys.modules.get("clew.suite.ahead")
        if ahead is not None and ahead.compiles_ahead():
            # Python would wait a minute or two for the program of a pack that is not trained now
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        raise


def _main(arguments: Sequence[str] | None) -> None:
    words, modules = split_modules(sys.argv[1:] if arguments is None else arguments)
    command, *rest = words or ["--help"]
    try:
        _call(command, rest, modules)
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever read what we print has gone, as `head` does; nothing more can be said
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (BadInput, OSError) as error:
        # a user's mistake or a full disk: a sentence, not a traceback
        print(f"clew: {printable(_sentence(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        if not (missing := _missing_device()):
            raise
        print(f"clew: {missing}", file=sys.stderr)
        sys.exit(2)


def _call(command: str, rest: Sequence[str], modules: Sequence[str]) -> None:
    if command == "help" and rest:  # of a command
        command, rest = rest[0], ["--help"]
    if command in ("-h", "--help", "help"):
        print(overview())
        return
    if command in ("-V", "--version", "version"):
        from clew.cli.version import version_text

        print(version_text())
        return
    typed.set((command, *rest, *(word for name in modules for word in (FLAG, name))))
    use_modules(modules, Path.cwd())
    if command not in (known := COMMANDS.names()):
        near = hint(command, (*known, "--help", "--version"))
        raise BadInput(f"there is no command {command!r}{near}; `clew --help` lists them")
    function = COMMANDS[command].factory()
    parameters = inspect.signature(function).parameters.values()
    if rest or any(parameter.default is parameter.empty for parameter in parameters):
        from clew.cli.parsing import parse  # not needed for `clew list`, and slow to import

        function = parse(function, rest, f"clew {command}")
    function()


def split_modules(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without `--module NAME` or `--module=NAME`, which every command has; the names."""
    rest: list[str] = []
    names: list[str] = []
    given = iter(words)
    for word in given:
        flag, mark, value = word.partition("=")
        if flag != FLAG:
            rest.append(word)
        else:
            names.append(value if mark else next(given, ""))
    return rest, names


def overview() -> str:
    """What `clew --help` prints: every command in a line. Imports none of them."""
    names = COMMANDS.names()
    width = max(map(len, names)) + 4
    lines = [
        textwrap.fill(
            COMMANDS[name].outline().about,
            width=88,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
        )
        for name in names
    ]
    begin = ("usage: clew COMMAND [ARGUMENTS]", "", QUESTION, "", "commands:")
    end = (
        "",
        "`clew COMMAND --help` explains a command's arguments. `clew demo` is a first try.",
        f"`{FLAG} NAME`, with any command, imports a module of yours that registers more.",
    )
    return "\n".join([*begin, *lines, *end])


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        said = f"{str(error.filename)!r} cannot be read or written ({error.strerror})"
        return "; ".join(filter(None, (said, way_out(error))))
    return str(error)


def _missing_device() -> str | None:
    """A sentence, if jax was told to use a device that is not here: its own errors vary."""
    wanted, jax = os.environ.get("JAX_PLATFORMS"), sys.modules.get("jax")
    if not wanted or jax is None:
        return None
    try:
        jax.devices()
    except Exception:
        return (
            f"JAX_PLATFORMS={wanted!r} names a device that jax does not find here; unset it, or "
            "install the driver and the extra: pip install 'clew[cuda]'"
        )
    return None
