"""What a command that trains ends with: the next thing to type."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clew import plugins
from clew.cli.next_steps import command_again, next_steps, shown, typed
from clew.store import Store
from tests.cli.called import Done, called
from tests.suite.declared import as_toml, declared, tiny


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`clew run` of a small suite into a folder whose name needs quotation marks."""
    monkeypatch.chdir(tmp_path)
    Path("my suite.toml").write_text(as_toml(declared()))
    return ["run", "my suite.toml", "--store", "my results", "--pack-size", "2"]


def last_lines(done: Done) -> list[str]:
    return done.out.rstrip().splitlines()[-2:]


def test_after_a_stop_it_is_the_same_command(words: list[str]) -> None:
    done = called(*words, "--time-limit", "0s", "--retry")
    assert done.code == 4
    why, how = last_lines(done)
    assert why == "stopped early: the time limit is reached"
    begin, _, command = how.partition(": ")
    assert begin == "to go on"
    assert shlex.split(command) == ["clew", *words, "--time-limit", "0s", "--retry"]


def test_after_the_end_it_is_another_try(words: list[str]) -> None:
    """And no report, of which there would be nothing to read."""
    store = Store("my results")
    for run in tiny().runs():
        store.run(run.config).write_failed("it broke", provenance={})
    done = called(*words)
    assert done.code == 3
    (failed,) = last_lines(done)[-1:]
    assert "clew report" not in done.out
    assert failed.startswith("what failed: clew status 'my results'; to try again: clew run ")
    _, _, again = failed.rpartition("to try again: ")
    assert shlex.split(again) == ["clew", *words, "--retry"]


def test_the_lines_for_every_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "out"
    typed.set(("run", "demo"))
    assert next_steps(store, {"finished": 3}) == ["next: clew report out"]
    assert next_steps(store, {"finished": 3}, demo=True) == []
    assert next_steps(store, {"finished": 3, "failed": 1})[1:] == ["next: clew report out"]
    assert next_steps(store, {"finished": 3, "begun": 1}) == ["to go on: clew run demo"]
    (failed,) = next_steps(store, {"finished": 3, "diverged": 1}, demo=True)
    assert failed.endswith("to try again: clew run demo --store out --retry")
    for counts in ({"absent": 1}, {"failed": 1, "begun": 2}, {"failed": 3}, {"finished": 1}):
        assert len(next_steps(store, counts, "Ctrl-C")) <= 3


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("failed", [True, False])
def test_probe_says_how_to_train_with_the_same_modules(
    words: list[str], there: bool, failed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "module_typed", raising=False)
    Path("my folder").mkdir()
    Path("my folder/module_typed.py").touch()
    given = ["--module", "my folder/module_typed.py"]
    if there:
        store = Store("my results")
        for run in tiny().runs() if failed else ():
            store.run(run.config).write_failed("it broke", provenance={})
    done = called("probe", *words[1:4], *given)
    assert done.code == (3 if there else 2)
    (line,) = [each for each in (done.out + done.err).splitlines() if ": clew run" in each]
    _, *train = shlex.split(line[line.index("clew run") :])
    assert train == [*words[:4], *["--retry"] * (there and failed), *given]
    assert called(*train, "--dry-run").code == 0


def test_a_package_beside_a_suite_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found in its folder only, and has no name of its own as a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(plugins, "_in_use", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    package = Path("the suite", "package_beside")
    package.mkdir(parents=True)
    (package / "mems.py").touch()
    plugins.use_modules(["package_beside.mems", "json"], Path("the suite"))
    (step,) = next_steps(Path("out"), {"finished": 1})
    command = step.removeprefix("next: ")
    flags = "--module package_beside.mems --module json"
    assert command == f"PYTHONPATH='the suite' clew report out {flags}"
    prefix, _, _ = command.partition("clew")
    found = f"{prefix} {shlex.quote(sys.executable)} -c 'import package_beside.mems'"
    subprocess.run(found, shell=True, check=True)
    monkeypatch.setenv("PYTHONPATH", "other")
    (step,) = next_steps(Path("out"), {"finished": 1})
    assert "PYTHONPATH='the suite':$PYTHONPATH clew" in step


def test_called_from_python() -> None:
    typed.set(())
    assert command_again() == "the same again"
    assert command_again("--retry") == "the same again with --retry"


def test_paths_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "a b") == "'a b'"
    assert shown(Path("/elsewhere/results")) == "/elsewhere/results"
    assert shown(Path("results")) == "results"
