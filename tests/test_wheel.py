"""The wheel, installed where the repository is not: what a stranger gets.

`CLEW_PYTHONS="python3.11 python3.13"` names the interpreters; else it is this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

import clew
from tests.suite.declared import as_toml, declared

pytestmark = pytest.mark.slow
HERE = Path(__file__).parents[1]
PYTHONS = os.environ.get("CLEW_PYTHONS", sys.executable).split()
MISSING = {
    "report results": "clew[report]",
    "probe tiny.toml": "clew[report]",
    "train gymnasium:CartPole-v1 --reward native --architecture GRU --steps 99999": "clew[gym]",
    "classify Cue --draw cue.svg": "clew[draw]",
    "run tiny.toml --wandb": "clew[wandb]",
    "run tiny.toml --on ray": "clew[ray]",
    "run tiny.toml --on slurm": "clew[slurm]",
}


class Stranger(NamedTuple):
    """A clean environment, and a folder of results that was trained in it."""

    python: Path
    folder: Path

    def pip(self, *words: str) -> None:
        quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        limits = ("--constraint", str(HERE / "constraints.txt"))
        subprocess.run([self.python, *quiet, *limits, *words], check=True)

    def clew(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "JAX_PLATFORMS": "cpu"}
        command = [str(self.python.with_name("clew")), *words]
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done
        return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=HERE, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module", params=PYTHONS)
def stranger(
    request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Stranger:
    home = tmp_path_factory.mktemp("home")
    subprocess.run([request.param, "-m", "venv", home / "venv"], check=True)
    (home / "work").mkdir()
    (home / "work" / "tiny.toml").write_text(as_toml(declared()), encoding="utf-8")
    found = Stranger(home / "venv" / "bin" / "python", home / "work")
    found.pip(*map(str, built.glob("*.whl")))
    return found


def test_sources_are_the_package_and_nothing_else(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    beside = {name for name in names if not name.startswith("src/clew/")}
    assert beside == {
        ".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md",
        "pyproject.toml",
    }  # fmt: skip
    tracked = subprocess.run(
        ["git", "ls-files", "src/clew"], cwd=HERE, check=True, capture_output=True, text=True
    )
    assert set(tracked.stdout.split()) <= names


def test_it_runs_without_extras(stranger: Stranger) -> None:
    assert stranger.clew("--version").stdout.startswith(f"clew {clew.__version__}\n")
    assert "TinyReproduce" in stranger.clew("list").stdout
    assert stranger.clew("classify", "Tiger").stdout
    assert "finished" in stranger.clew("run", "tiny.toml").stdout
    assert json.loads(stranger.clew("status", "--json").stdout)["counts"].keys() == {"finished"}
    name = next((stranger.folder / "results" / "runs").iterdir()).name
    assert "of 3 episodes succeeded" in stranger.clew("show", name, "--gif", "play.gif").stdout
    for words, extra in MISSING.items():
        done = stranger.clew(*words.split(), code=2)
        assert f"pip install '{extra}'" in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1


def test_it_reports_with_its_extra(stranger: Stranger, built: Path) -> None:
    stranger.pip(f"{next(built.glob('*.whl'))}[report]")
    assert "report: results/report.html" in stranger.clew("report").stdout
    assert (stranger.folder / "results" / "report.html").stat().st_size > 10_000
    assert stranger.clew("new", "world", "Mine").stdout
