"""Where commands print to, and the exit codes that they end with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

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


_for_json: TextIO | None = None
"""Standard output, while `json_alone` keeps others from it."""


@contextmanager
def json_alone(as_json: bool) -> Iterator[None]:
    """Only `print_json` prints to standard output; what an environment prints goes to standard
    error. So does what a library of it writes, and a process that is started meanwhile."""
    global _for_json
    if not as_json:
        yield
        return
    out, err = sys.stdout, sys.stderr
    files = out is sys.__stdout__ and err is sys.__stderr__  # not so in a notebook, or a test
    out.flush()
    ours = out
    if files:
        ours = os.fdopen(os.dup(out.fileno()), "w", encoding=out.encoding)
        os.dup2(err.fileno(), out.fileno())
    _for_json = ours
    try:
        with redirect_stdout(err):
            yield
    finally:
        _for_json = None
        if files:
            os.dup2(ours.fileno(), out.fileno())
            ours.close()


def print_json(line: str) -> None:
    """To standard output, for a script."""
    print(line, file=_for_json or sys.stdout, flush=True)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is: no markup, no colours for numbers, no wrapping, no control signs."""
    console.print(printable(line), style=style, highlight=False, markup=False, soft_wrap=True)


def counted(n: int, what: str) -> str:
    """`1 pack`, `6 packs`."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
