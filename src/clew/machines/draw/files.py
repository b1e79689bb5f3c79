"""Pictures as files."""

from __future__ import annotations

import os

from clew.machines.draw.picture import picture
from clew.machines.draw.svg import svg
from clew.machines.model.reward_machine import RewardMachine
from clew.validate import BadInput


def to_svg(machine: RewardMachine) -> str:
    """The machine as an SVG file's text. Nothing further has to be installed."""
    return svg(picture(machine))


def to_pdf(machine: RewardMachine, path: str | os.PathLike[str]) -> None:
    """Write the machine to a PDF file, with its fonts inside; needs `clew[draw]` (matplotlib)."""
    try:
        from clew.machines.draw.pdf import write_pdf
    except ImportError as error:
        raise BadInput(
            f"drawing a PDF needs {error.name}, which is not installed; install clew[draw], or "
            "write SVG, which needs nothing"
        ) from None
    write_pdf(picture(machine), path)
