"""Adding a world, a memory, a bonus, a reward, a table or a command touches one place.

`tests/extension` holds one of each. They are found in the list, in a suite that is trained, in the
report and in the probes, without an edit anywhere else.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from clew.analysis.tables import TABLES
from clew.bonuses.registry import bonuses
from clew.cli import COMMANDS
from clew.envs import registry as worlds
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.memory.registry import architectures
from tests.cli.called import Done, called
from tests.suite.declared import PERIOD, SETTINGS, as_toml

ARMS: dict[str, Any] = {"architectures": ["Leaky"], "seeds": 2, "steps": 4 * PERIOD}
SUITE: dict[str, Any] = {
    "share": True,
    "settings": SETTINGS,
    "block": [
        {
            "environment": "Corridor",
            "rewards": ["sparse", "strict"],
            "bonuses": ["none", "change"],
            **ARMS,
        },
        {
            "environment": "TinyReproduce",
            "environment_options": {"k": 2, "v": 2},
            "rewards": ["half"],
            "bonuses": ["none"],
            **ARMS,
        },
    ],
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Import the extension from a folder of its own, and forget it afterwards."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(Path(__file__).parent / "extension", folder / "extension")
    (folder / "mine.toml").write_text(as_toml(SUITE))
    with pytest.MonkeyPatch.context() as patch:
        for registry in (worlds.environments, architectures, bonuses, TABLES, COMMANDS):
            registry.names()
            patch.setattr(registry, "_entries", dict(registry._entries))
        patch.setattr(worlds, "_displays", dict(worlds._displays))
        patch.setattr(TinyReproduce, "rewards", dict(TinyReproduce.rewards))
        patch.syspath_prepend(folder)
        for module in pkgutil.iter_modules([str(folder / "extension")]):
            importlib.import_module(f"extension.{module.name}")
        yield folder / "mine.toml"
    for name in [name for name in sys.modules if name.split(".")[0] == "extension"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def store(suite: Path) -> Path:
    """Everything that was added, trained for a few steps."""
    done = run("run", str(suite), "--store", str(suite.parent / "results"))
    assert "10 finished" in done.out
    return suite.parent / "results"


def run(*words: str) -> Done:
    done = called(*words)
    assert done.code == 0, done
    return done


def test_the_list(suite: Path) -> None:
    listed = json.loads(run("list", "--json").out)
    corridor = listed["environments"]["Corridor"]
    assert corridor["about"] == "Say at the end of a corridor what was shown at its start."
    assert corridor["rewards"]["strict"] == {"right": 1.0, "wrong": -1 / 3}
    assert corridor["events"] == {"right": "", "wrong": ""}
    length = {"name": "length", "type": "int", "default": 3, "about": "Steps from end to end."}
    assert corridor["options"] == [length]
    assert list(listed["environments"]["TinyReproduce"]["rewards"]) == ["dense", "sparse", "half"]
    (leak,) = listed["architectures"]["Leaky"]["options"]
    assert (leak["default"], leak["about"]) == (0.9, "Share of the state that a step keeps.")
    assert {option["name"]: option["about"] for option in listed["bonuses"]["change"]["options"]}[
        "clip"
    ].startswith("The largest intrinsic reward")
    assert "Leaky" in run("list").out
    assert "−0.333 for wrong" in run("list", "Corridor").out


def test_given_memory(suite: Path) -> None:
    """Whatever a perfect memory would know: the control trains on it, and Gymnasium shows it."""
    store = str(suite.parent / "given")
    given = ["--reward", "strict", "--architecture", "Given", "--seeds", "1", "--store", store]
    settings = [f"--settings.{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    done = run("train", "Corridor", *given, "--steps", str(PERIOD), *settings)
    assert "1 finished" in done.out
    made = gymnasium.make("clew/Corridor-v0", knowledge=True)
    obs, _ = made.reset(seed=0)
    assert obs["knowledge"].tolist() == [*obs["observation"][:2], 1, 0, 0]


def test_a_command(suite: Path, store: Path) -> None:
    assert "count     Count the runs of a store." in run("--help").out
    assert "Count each so many times. (default: 1)" in run("count", "--help").out
    assert run("count", str(store), "--times", "2").out == "20 runs\n"


def test_the_suite(store: Path) -> None:
    status = json.loads(run("status", str(store), "--json").out)
    arms = {(a["environment"], a["reward"], a["architecture"], a["bonus"]) for a in status["arms"]}
    assert ("Corridor", "strict", "Leaky", "change") in arms
    assert ("TinyReproduce[k=2,v=2]", "half", "Leaky", "none") in arms


def test_the_report(store: Path) -> None:
    run("report", str(store), "--proof-seconds", "0")
    page = (store / "report.html").read_text(encoding="utf-8")
    assert "Number of seeds of every arm" in page
    assert "Corridor / strict / Leaky / change" in page
    assert "The corridor" in page


def test_the_probes(suite: Path, store: Path) -> None:
    done = run("probe", str(suite), "--store", str(store), "--episodes", "30", "--json")
    probed = json.loads(done.out.splitlines()[-1])
    corridor = [arm for arm in probed["arms"] if arm["environment"] == "Corridor"]
    assert {(arm["architecture"], arm["bonus"]) for arm in corridor} == {
        ("Leaky", "none"),
        ("Leaky", "change"),
    }
