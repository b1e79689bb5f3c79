"""The example package, installed by pip, and a module beside a suite: every command in a process of
its own, training by two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew import plugins
from tests.example import EXAMPLE, installed
from tests.suite.declared import PERIOD, SETTINGS, as_toml

pytestmark = pytest.mark.slow
SOURCES = Path(plugins.__file__).parents[1]
ARMS = {"architectures": ["Leaky"], "bonuses": ["none", "change"], "seeds": 2, "steps": 4 * PERIOD}
SUITE = {
    "share": True,
    "modules": ["beside"],
    "settings": SETTINGS,
    "block": [
        {"environment": "Corridor", "rewards": ["sparse"], **ARMS},
        {"environment": "Beside", "rewards": ["penalty"], **ARMS},
    ],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Path:
    """A suite, the module that it names, and its results."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "suite").mkdir()
    clew(folder, site, "new", "world", "Beside", "--out", "suite")
    (folder / "suite" / "mine.toml").write_text(as_toml(SUITE))
    words = ("--store", "results", "--workers", "2", "--pack-size", "1")
    done = clew(folder, site, "run", "suite/mine.toml", *words)
    assert "8 finished" in done.stdout
    assert f"with the module beside ({folder}/suite/beside.py)" in done.stdout
    assert "next: clew report results --module suite/beside.py" in done.stdout
    return folder


def clew(
    folder: Path, site: Path | None, *words: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    return python(folder, site, "-m", "clew", *words, code=code)


def python(
    folder: Path, site: Path | None, *words: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, filter(None, (site, SOURCES))))
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_its_own_tests(tmp_path: Path, site: Path) -> None:
    as_it_is = ("-c", os.devnull, "-p", "no:cacheprovider", str(EXAMPLE))
    done = python(tmp_path, site, "-m", "pytest", *as_it_is)
    assert "6 passed" in done.stdout


def test_again_is_nothing(folder: Path, site: Path) -> None:
    done = clew(folder, site, "run", "suite/mine.toml", "--store", "results", "--json")
    assert {json.loads(line)["what"] for line in done.stdout.splitlines()[:-1]} == {"found"}


def run_of(folder: Path, world: str) -> str:
    return next(path.name for path in folder.glob(f"results/runs/{world}*change*"))


def test_show(folder: Path, site: Path) -> None:
    here, beside = (run_of(folder, world) for world in ("corridor", "beside"))
    assert "episodes succeeded" in clew(folder, site, "show", here, "--store", "results").stdout
    gone = clew(folder, None, "show", here, "--store", "results", code=2).stderr
    assert "there is no environment 'Corridor' here" in gone
    assert "it is from clew-corridor 0.1.0: install its package" in gone
    words = ("show", beside, "--store", "results", "--json")
    assert "from beside (sha256 " in clew(folder, site, *words, code=2).stderr
    told = json.loads(clew(folder, site, *words, "--module", "suite/beside.py").stdout)
    assert len(told["gif"]["lengths"]) == 3


def test_report(folder: Path, site: Path) -> None:
    """What is proved needs the worlds; without them the rest is told, and why that is not."""
    for site_, words, known, unknown in (
        (site, ["--module", "suite/beside.py"], {"Corridor", "Beside"}, set[str]()),
        (site, [], {"Corridor"}, {"Beside"}),
        (None, [], set[str](), {"Corridor", "Beside"}),
    ):
        clew(folder, site_, "report", "results", *words)
        page = (folder / "results" / "report.html").read_text(encoding="utf-8")
        for world in known | unknown:
            said = f"environment &#x27;{world}&#x27; here: install" in page
            assert said == (world in unknown), (world, words)
    assert not (folder / "results" / "proofs.json").exists()


def test_probe(folder: Path, site: Path) -> None:
    words = ("probe", "suite/mine.toml", "--store", "results", "--episodes", "30", "--json")
    told = json.loads(clew(folder, site, *words).stdout.splitlines()[-1])
    assert {arm["environment"] for arm in told["arms"]} == {"Corridor", "Beside"}
    told = clew(folder, site, *words, "--latent", "place").stdout.splitlines()[-1]
    assert "Beside has no latent 'place'" in json.loads(told)["skipped"].values()


def test_classify(folder: Path, site: Path) -> None:
    assert json.loads(clew(folder, site, "classify", "Corridor", "--json").stdout)["verdict"]
    words = ("classify", "Beside", "--json", "--module", "suite/beside.py")
    assert json.loads(clew(folder, site, *words).stdout)["verdict"]
