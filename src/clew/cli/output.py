"""Where commands print to, and the exit codes that they end with."""

from __future__ import annotations

import sys

from rich.console import Console

from clew.validate import printable

EXIT_FAILED, EXIT_LEFT, EXIT_WORKER, EXIT_INTERRUPTED = 3, 4, 5, 130
"""Some runs failed; some are not finished; a worker failed; Ctrl-C, as a shell says it."""


def console_for(as_json: bool = False) -> Console:
    """For text: standard error when a script reads JSON from standard output.

    Bars that move are for terminals. Notebooks, which ask for colours, get lines, as pipes do.
    """
    file = sys.stderr if as_json else sys.stdout
    return Console(file=file, force_terminal=file.isatty(), force_jupyter=False)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is: no markup, no colours for numbers, no wrapping, no control signs."""
    console.print(printable(line), style=style, highlight=False, markup=False, soft_wrap=True)


def counted(n: int, what: str) -> str:
    """`1 pack`, `6 packs`."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
