"""The command line, as a user meets it."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import clew
from clew.cli.output import console_for
from tests.cli.called import called


def test_without_a_word_it_helps() -> None:
    done = called()
    assert done.code == 0
    assert done == called("--help")
    assert "list" in done.out
    assert "bottleneck?" in done.out


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("run", "SUITE"), ("train", "ENVIRONMENT"), ("status", "[STORE]"), ("show", "RUN"),
        ("report", "[STORE|FILE]"), ("export", "[STORE|FILE]"), ("probe", "SUITE"),
        ("merge", "FROM INTO"), ("classify", "NAME"), ("list", "[NAME]"), ("bench", "{train}"),
        ("demo", ""), ("new", "world|memory|bonus|suite NAME"),
    ],
)  # fmt: skip
def test_help_names_what_is_meant(command: str, shown: str) -> None:
    done = called(command, "--help")
    assert done.code == 0
    usage = done.out.splitlines()[0]
    assert usage.startswith(f"usage: clew {command} [-h]")
    assert f" {shown}" in usage
    assert "None" not in done.out.replace("None on SLURM", "")


WITHOUT_JAX = """
import contextlib, io, sys
from clew.cli import COMMANDS, main
store = sys.argv[1]
helps = [[name, "--help"] for name in COMMANDS.names()]
lists = [["list"], ["list", "--json"], ["list", "GRU"], ["list", "rewards"]]
for words in (["--help"], *helps, *lists, ["status", store]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main(words)
    assert out.getvalue(), words
    assert "jax" not in sys.modules, words
"""


def test_looking_needs_no_jax() -> None:
    """Help of every command, the list and the status of a store come without a second's wait."""
    store = Path(__file__).parent / "golden" / "store-1"
    subprocess.run([sys.executable, "-c", WITHOUT_JAX, str(store)], check=True)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m clew --help | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version() -> None:
    first, *rest = called("--version").out.splitlines()
    assert first == f"clew {clew.__version__}"
    assert f"jax {jax.__version__}" in rest[1]
    assert "devices: cpu" in rest[2]
    assert "report (pandas" in rest[3]


def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook asks every process for colours, and cannot move the cursor."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with contextlib.redirect_stdout(io.StringIO()):
        assert not console_for().is_terminal
