"""The command line, as a user meets it."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import clew
from clew.cli.output import console_for
from tests.cli.called import called


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("demo --workers 0", "workers=0 is not valid; it must be a whole number of at least 1"),
        ("demo --out FILE", "'FILE/demo/clew-store.json' cannot be read"),
        ("bench train --architectures GRUU", r".*'GRUU'.*did you mean 'GRU'"),
        ("bench train --chunk 60", r"chunk=60 is not valid"),
        ("lst", r"command='lst' is not valid; choose .*did you mean 'list'"),
        ("status MISSING", "'MISSING' does not exist; name the folder of a store"),
        ("show x --store MISSING", "'MISSING' does not exist; name the folder of a store"),
        ("report MISSING", "'MISSING' does not exist; name the folder of a store"),
        ("merge MISSING FILE", "'MISSING' does not exist; name the folder of a store"),
        ("status FILE", "'FILE' is not a folder"),
        ("run nothing", r"suite='nothing' is not valid; choose 'demo'.*or the path of a \.toml"),
        ("run MISSING.toml", r"'MISSING.toml' is not a file"),
        ("run demo --store FILE", r"'FILE' is not a folder"),
        ("run demo --time-limit soon", "time_limit='soon' is not valid; write 90s"),
        ("run demo --pack-size 0", "pack_size=0 is not valid"),
        ("run demo --partition x", "partition='x' has no effect with --on local"),
        ("train TinyReproduce --reward dense --architecture GRU --steps 1",
         "steps=1 is not valid; it must be at least 81920"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_in_a_sentence(words: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    paths = {"FILE": str(tmp_path / "file"), "MISSING": str(tmp_path / "missing")}
    for name, path in paths.items():
        words, said = words.replace(name, path), said.replace(name, re.escape(path))
    done = called(*words.split())
    assert done.code == 2
    assert re.match(f"clew: {said}", done.err), done.err
    assert done.err.count("\n") == 1
    assert done.out.strip() == "" or words.startswith("demo --out")  # having said what for
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


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


def test_a_number_that_is_none() -> None:
    done = called("run", "demo", "--pack-size", "x")
    assert done.code == 2
    assert done.err == "clew: --pack-size: 'x' is not a whole number\n"


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run demo --stor x", "clew run has no flag '--stor' (did you mean '--store'?)"),
        ("run demo --pack-size", "--pack-size needs a value"),
        ("run demo --on mars", "--on='mars' is not valid; choose 'local', 'slurm' or 'ray'"),
        ("train TinyReproduce --reward sparse", "clew train needs --architecture and --steps"),
        ("train TinyReproduce --knobs.gama 1", "clew train has no flag '--knobs.gama' (did you"),
        ("merge here", "clew merge needs INTO; see `clew merge --help`"),
        ("status here there", "clew status does not know what to do with 'there'"),
        ("demo --workers two", "--workers: 'two' is not a whole number"),
    ],
)
def test_a_mistyped_argument_is_one_sentence(words: str, said: str) -> None:
    done = called(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"clew: {said}"), done.err
    assert done.err.count("\n") == 1


def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook asks every process for colours, and cannot move the cursor."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with contextlib.redirect_stdout(io.StringIO()):
        assert not console_for().is_terminal
