"""What to type after a command that trained: how to go on, to try again, to see the answer."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path

from clew.plugins import FLAG, modules_in_use
from clew.store.state import ENDED

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The command and its arguments, as somebody typed them; empty if Python called it."""
RETRY = "--retry"


def next_steps(
    store: Path, counts: Mapping[str, int], stopped: str = "", demo: bool = False
) -> list[str]:
    """A line or two, for runs counted by status. `demo` makes the report itself."""
    said = [f"stopped early: {stopped}"] if stopped else []
    if counts.keys() - {*ENDED}:
        return [*said, f"to go on: {command_again()}"]
    where = shown(store)
    if counts.keys() & {"failed", "diverged"}:
        again = f"clew run demo --store {where} {RETRY}" if demo else command_again(RETRY)
        said.append(f"what failed: clew status {where}; to try again: {again}")
    if demo or "finished" not in counts:
        return said
    return [*said, f"next: {with_modules(f'clew report {where}')}"]


def with_modules(command: str) -> str:
    """The command with the flags for the modules in use, each as it is found from here."""
    folders: dict[str, None] = {}
    for name, folder in modules_in_use():
        *packages, last = name.split(".")
        file = Path(folder, *packages, f"{last}.py")
        elsewhere = Path(folder) != Path.cwd()
        if elsewhere and file.is_file() and not packages:
            name = shown(file)
        elif elsewhere and (file.is_file() or file.with_suffix("").is_dir()):
            folders[shown(Path(folder))] = None
        command += f" {FLAG} {name}"
    if not folders:
        return command
    already = ["$PYTHONPATH"] if os.environ.get("PYTHONPATH") else []
    return f"PYTHONPATH={os.pathsep.join([*folders, *already])} {command}"


def flags_typed() -> str:
    """The `--module` flags of the command that was typed, each after a blank."""
    names = (name for flag, name in pairwise(typed.get()) if flag == FLAG)
    return "".join(f" {FLAG} {shlex.quote(name)}" for name in names)


def command_again(*more: str) -> str:
    """The command that was typed, and with what is given here."""
    words = [word for word in typed.get() if word not in more]
    if not words:
        return " ".join(("the same again", *(f"with {word}" for word in more)))
    return shlex.join(["clew", *words, *more])


def shown(path: Path) -> str:
    """A path to be typed, from here if it is below the present folder."""
    below = path.is_absolute() and path.is_relative_to(Path.cwd())
    return shlex.quote(os.path.relpath(path) if below else str(path))
