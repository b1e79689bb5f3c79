"""`clew new`: a template of a world, a memory, a bonus or a suite, to begin with."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from clew.cli.next_steps import shown
from clew.cli.output import console_for, say
from clew.cli.registry import register
from clew.plugins import FLAG
from clew.store.atomic import write
from clew.validate import BadInput

Kind = Annotated[
    Literal["world", "memory", "bonus", "suite"], arg(metavar="world|memory|bonus|suite")
]
NewName = Annotated[str, arg(metavar="NAME")]
GROUPS = {"world": "clew.worlds", "memory": "clew.memories", "bonus": "clew.bonuses"}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")


@register("new")
def new(kind: Kind, name: NewName, /, out: Path = Path(), package: bool = False) -> None:
    """Write a template that works as it is: a module, the test of its laws, and a suite.

    Args:
        kind: What to begin.
        name: What suites and commands will know it by.
        out: Folder for the files. A file that is there is not overwritten.
        package: Also make it an installable package that offers it to Clew, in a folder of its own.
    """
    if not NAME.fullmatch(name):
        raise BadInput(
            f"name={name!r} is not valid; write a letter, then letters and digits, with - or _ "
            "between them"
        )
    if package and kind == "suite":
        raise BadInput("--package is for a world, a memory or a bonus; a suite is one file")
    module = re.sub(r"[-_]+", "_", name).lower()
    if kind != "suite":
        _require_free(kind, name, module)
    folder = out / module.replace("_", "-") if package else out
    written = {
        folder / path: _filled(template, kind, name, module, package)
        for path, template in _templates(kind, module, package).items()
    }
    for path in written:
        if path.exists():
            raise BadInput(
                f"{str(path)!r} is there already, and nothing was written; choose another name or "
                "--out"
            )
    for path, text in written.items():
        write(path, lambda file, text=text: file.write(text.encode()), overwrite=False)
    console = console_for(False)
    for path in written:
        say(console, str(path))
    say(console, "next:")
    for command in _next(kind, name, module, folder, package):
        say(console, f"  {command}")


def _templates(kind: str, module: str, package: bool) -> dict[str, str]:
    """Files to write, and the templates that they are made of."""
    found = {f"{module}.toml": f"{kind}.toml"}
    if kind != "suite":
        found = {f"{module}.py": f"{kind}.py", f"test_{module}.py": f"test_{kind}.txt", **found}
    return {"pyproject.toml": "pyproject.toml", **found} if package else found


def _filled(template: str, kind: str, name: str, module: str, package: bool) -> str:
    folder = files("clew.templates")
    text = folder.joinpath(template).read_text("utf-8")
    text = text.replace("#include small.toml\n", folder.joinpath("small.toml").read_text("utf-8"))
    if package:  # an installed one is found without being named
        text = re.sub(r"^modules = .*\n", "", text, flags=re.MULTILINE)
        text = text.replace(f" {FLAG} template_module", "")
    class_name = "".join(part[0].upper() + part[1:] for part in re.split("[-_]", name))
    for mark, value in {
        "TEMPLATE_NAME": name,
        "TemplateClass": class_name,
        "template_module": module,
        "template-package": module.replace("_", "-"),
        "template.group": GROUPS.get(kind, ""),
    }.items():
        text = text.replace(mark, value)
    return text


def _next(kind: str, name: str, module: str, folder: Path, package: bool) -> list[str]:
    """What to type."""
    go = [f"cd {shown(folder)}"] if folder != Path() else []
    if kind == "suite":
        return [*go, f"clew run {module}.toml --dry-run", f"clew run {module}.toml --store results"]
    if package:
        ways = ["pip install --editable .", "python -m pytest", f"clew list {name}"]
    else:
        ways = [f"python -m pytest test_{module}.py", f"clew list {name} {FLAG} {module}"]
    known = f" {FLAG} {module}" if kind == "world" and not package else ""
    return [*go, *ways, f"clew run {module}.toml --store results", f"clew report results{known}"]


def _require_free(kind: str, name: str, module: str) -> None:
    """Names that something else has would hide it, or be hidden."""
    from clew.bonuses.registry import bonuses
    from clew.envs.registry import environments
    from clew.memory.registry import architectures

    taken = {"world": environments, "memory": architectures, "bonus": bonuses}[kind]
    if name in taken.names():
        raise BadInput(f"there is a {kind} {name!r} already; choose another name")
    if keyword.iskeyword(module) or importlib.util.find_spec(module) is not None:
        raise BadInput(
            f"name={name!r} would need a module {module!r}, which Python has already; choose "
            "another name"
        )
