"""Pictures, laid out and drawn by Graphviz."""

from __future__ import annotations

import os
from pathlib import Path

from clew.machines.draw.dot import to_dot
from clew.machines.model.reward_machine import RewardMachine
from clew.validate import BadInput, one_of

FORMATS = (".svg", ".pdf", ".png", ".dot")
"""The endings of files that `to_file` writes."""


def to_svg(machine: RewardMachine) -> str:
    """The machine as an SVG file's text; needs `clew[draw]`."""
    return _drawn(machine, "svg").decode()


def to_file(machine: RewardMachine, path: str | os.PathLike[str]) -> None:
    """Write a picture in the format that the file's ending names; `.dot` needs no package."""
    file = Path(path)
    ending = file.suffix.lower()
    one_of("the picture's ending", ending, FORMATS)
    file.write_bytes(
        to_dot(machine).encode() if ending == ".dot" else _drawn(machine, ending.removeprefix("."))
    )


def _drawn(machine: RewardMachine, kind: str) -> bytes:
    try:
        from pygraphviz import AGraph
    except ImportError:
        raise BadInput(
            "drawing a machine needs pygraphviz, which is not installed: pip install 'clew[draw]'"
        ) from None
    picture = AGraph(string=to_dot(machine)).draw(format=kind, prog="dot")
    assert picture is not None  # without a path, it is returned
    return picture
