"""`clew` called with words, in this process: a mistake costs no second import of jax."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from clew import plugins
from clew.cli import main


class Done(NamedTuple):
    """What a user or a script gets."""

    code: int
    out: str
    err: str


def called(*words: str) -> Done:
    """Whatever is not a `SystemExit` would be a traceback, and is raised."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["clew", *words])
        patch.setattr(plugins, "_in_use", dict(plugins._in_use))  # ends with a process
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
    return Done(code, out.getvalue(), err.getvalue())
