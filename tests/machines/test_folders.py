"""The folders of `clew.machines` import each other in one direction only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import clew.machines

HERE = Path(clew.machines.__file__).parent
MAY_IMPORT: dict[str, set[str]] = {
    "exact": set(),
    "model": {"exact"},
    # above all, nothing of `deciding`: what checks a proof shares no code with what makes it
    "certificates": {"model"},
    "deciding": {"model", "certificates", "exact"},
    "worlds": {"model", "exact"},
    "formats": {"model"},
    "draw": {"model", "formats", "certificates", "deciding"},
    "tasks": {"exact", "model", "deciding", "worlds"},
}


def imported(file: Path) -> set[str]:
    """The folders that a file imports from, at its top or later."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    names = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[2] for name in names if name.startswith("clew.machines.")}


def test_every_folder_is_listed() -> None:
    assert {file.parent.name for file in HERE.glob("*/__init__.py")} == set(MAY_IMPORT)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    for file in (HERE / folder).rglob("*.py"):
        assert imported(file) <= MAY_IMPORT[folder] | {folder}, file
