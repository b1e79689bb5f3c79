"""`clew new`: what it writes obeys the laws as it is; what it cannot write is one sentence."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clew import plugins
from clew.bonuses.registry import bonuses
from clew.cli.commands.new import GROUPS
from clew.envs import registry as worlds
from clew.memory.registry import architectures
from clew.suite import find_suite
from tests.cli.called import called
from tests.example import installed

SOURCES = str(Path(plugins.__file__).parents[1])
KINDS = ("world", "memory", "bonus")
NAMES = {kind: f"My-{kind}" for kind in KINDS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each."""
    folder = tmp_path_factory.mktemp("new")
    for kind, name in NAMES.items():
        done = called("new", kind, name, "--out", str(folder))
        assert done.code == 0, done
        assert done.out.splitlines()[:4] == [
            f"{folder}/my_{kind}.py",
            f"{folder}/test_my_{kind}.py",
            f"{folder}/my_{kind}.toml",
            "next:",
        ]
    assert called("new", "suite", "first", "--out", str(folder)).code == 0
    return folder


def python(*words: str, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, SOURCES)))}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_they_obey_the_laws(folder: Path) -> None:
    """By the tests that were written with them."""
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=folder)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_they_are_well_written(folder: Path) -> None:
    settings = Path(__file__).parents[2] / "pyproject.toml"
    for words in (["check", "--ignore", "D1,I"], ["format", "--check"]):
        done = python(
            "-m", "ruff", *words, "--no-cache", "--config", str(settings), ".", folder=folder
        )
        assert done.returncode == 0, done.stdout
    assert not [path for path in folder.glob("*my_*.*") if "template" in path.read_text().lower()]


def test_the_suites_can_be_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They name the modules, and know what these register."""
    monkeypatch.setattr(plugins, "_in_use", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    for registry in (worlds.environments, architectures, bonuses):
        registry.names()
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(worlds, "_displays", dict(worlds._displays))
    sizes = {name: len(find_suite(str(folder / f"{name}.toml")).runs()) for name in (
        "my_world", "my_memory", "my_bonus", "first",
    )}  # fmt: skip
    assert sizes == {"my_world": 18, "my_memory": 24, "my_bonus": 27, "first": 18}
    assert [name for name, _ in plugins.modules_in_use()] == ["my_world", "my_memory", "my_bonus"]
    listed = called("list", "My-world").out
    assert "My-world: an environment" in listed
    assert "from my_world" in listed
    for kind in KINDS:
        del sys.modules[f"my_{kind}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("world My-world", "my_world.py' is there already, and nothing was written"),
        ("world TinyReproduce", "there is a world 'TinyReproduce' already"),
        ("memory GRU", "there is a memory 'GRU' already"),
        ("bonus e3b", "there is a bonus 'e3b' already"),
        ("world Random", "would need a module 'random', which Python has already"),
        ("world lambda", "would need a module 'lambda', which Python has already"),
        ("world a;b", "name='a;b' is not valid; write a letter, then"),
        ("world ../up", "name='../up' is not valid"),
        ("world -x", "has no flag '-x'"),
        ("suite first", "first.toml' is there already"),
        ("suite second --package", "--package is for a world, a memory or a bonus"),
        ("planet X", "kind='planet' is not valid; choose 'world', 'memory', 'bonus' or 'suite'"),
    ],
)
def test_a_mistake_is_a_sentence(folder: Path, words: str, said: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    done = called("new", *words.split(), "--out", str(folder))
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "kind", ["world", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])]
)
def test_a_package(kind: str, tmp_path: Path) -> None:
    """It is installed by pip, and then known without being named."""
    done = called("new", kind, f"Packed-{kind}", "--out", str(tmp_path), "--package")
    package = tmp_path / f"packed-{kind}"
    assert f"cd {package}" in done.out
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {
        GROUPS[kind]: {f"Packed-{kind}": f"packed_{kind}:Packed{kind.title()}"}
    }
    suite = tomllib.loads((package / f"packed_{kind}.toml").read_text())
    assert "modules" not in suite
    assert "--module" not in (package / f"packed_{kind}.py").read_text()
    site = installed(tmp_path / "site", package)
    told = python("-m", "clew", "list", f"Packed-{kind}", folder=tmp_path, path=str(site))
    assert f"from packed-{kind} 0.1.0" in told.stdout, told.stderr
    assert importlib.util.find_spec(f"packed_{kind}") is None
