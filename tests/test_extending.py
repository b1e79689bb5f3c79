"""Adding a world, a memory, a bonus, a latent, a reward, a table or a command touches one place.

The package in `examples` is installed, and offers most of them; modules in `tests/extension` hold
the rest. They are found in the list, in a suite that is trained, in the report and in the probes.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from clew import plugins
from clew.analysis.tables import TABLES
from clew.bonuses.registry import bonuses
from clew.cli import COMMANDS
from clew.envs import registry as worlds
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.memory.registry import architectures
from clew.suite.registry import find_suite, suites
from tests.cli.called import Done, called
from tests.example import installed
from tests.suite.declared import PERIOD, SETTINGS, as_toml

REGISTRIES = (worlds.environments, worlds.latents, architectures, bonuses, suites, TABLES, COMMANDS)
ARMS: dict[str, Any] = {"architectures": ["Leaky"], "seeds": 2, "steps": 4 * PERIOD}
SUITE: dict[str, Any] = {
    "share": True,
    "modules": ["extension.half", "extension.seeds_table"],
    "settings": SETTINGS,
    "block": [
        {
            "environment": "Corridor",
            "environment_options": {"length": 3},
            "rewards": ["sparse", "penalty"],
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
CORRIDOR = "Corridor[length=3]"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the package in a folder of its own, and forget it and the modules afterwards."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(Path(__file__).parent / "extension", folder / "extension")
    (folder / "mine.toml").write_text(as_toml(SUITE))
    with pytest.MonkeyPatch.context() as patch:
        for registry in REGISTRIES:
            registry.names()
            patch.setattr(registry, "_entries", dict(registry._entries))
            patch.setattr(registry, "_discovered", False)
        patch.setattr(worlds, "_displays", dict(worlds._displays))
        patch.setattr(plugins, "_in_use", {})
        patch.setattr(TinyReproduce, "rewards", dict(TinyReproduce.rewards))
        patch.syspath_prepend(installed(folder / "site"))
        yield folder / "mine.toml"
    outside = ("extension", "clew_corridor", "count_command")
    for name in [name for name in sys.modules if name.split(".")[0] in outside]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def store(suite: Path) -> Path:
    """Everything that was added, trained for a few steps."""
    done = run("run", str(suite), "--store", str(suite.parent / "results"))
    assert "10 finished" in done.out
    assert f"with the module extension.half ({suite.parent / 'extension' / 'half.py'})" in done.out
    # a package beside the suite is found from elsewhere by its folder
    before, _, after = done.out.partition("next: ")[2].partition(" clew report")
    assert before.startswith(f"PYTHONPATH={suite.parent}")
    assert " --module extension.half" in after
    return suite.parent / "results"


def run(*words: str) -> Done:
    done = called(*words)
    assert done.code == 0, done
    return done


def test_the_list(suite: Path) -> None:
    listed = json.loads(
        run("list", "--json", "--module", str(suite.parent / "extension/half.py")).out
    )
    assert "clew_corridor.world" not in sys.modules
    corridor = listed["environments"]["Corridor"]
    assert corridor["about"] == "Read the sign at one end, and turn as it says at the other."
    assert corridor["rewards"]["penalty"] == {"goal": 1.0, "wrong": -1.0, "step": -1 / 32}
    assert corridor["events"]["step"] == "always."
    assert corridor["from"] == "clew-corridor 0.1.0"
    about = "Places from the sign to the fork."
    assert corridor["options"] == [{"name": "length", "type": "int", "default": 4, "about": about}]
    assert listed["environments"]["Corridor-long"]["stands_for"] == {"length": 8}
    assert list(listed["environments"]["TinyReproduce"]["rewards"]) == ["dense", "sparse", "half"]
    (leak,) = listed["architectures"]["Leaky"]["options"]
    assert (leak["default"], leak["about"]) == (0.9, "Share of the state that a step keeps.")
    assert {option["name"]: option["about"] for option in listed["bonuses"]["change"]["options"]}[
        "clip"
    ].startswith("The largest intrinsic reward")
    assert listed["latents"]["place"]["options"] == []
    assert "Leaky" in run("list").out
    assert "−0.0312 for step" in run("list", "Corridor").out
    assert worlds.display("Corridor").label == "The corridor"
    assert "clew_corridor.world" not in sys.modules


def test_a_suite_by_name(suite: Path) -> None:
    found = find_suite("corridor")
    assert found.about.startswith("What holds an agent back in the corridor")
    assert len(found.runs()) == 36


def test_given_memory(suite: Path) -> None:
    """Whatever a perfect memory would know: the control trains on it, and Gymnasium shows it."""
    store = str(suite.parent / "given")
    given = ["--reward", "sparse", "--architecture", "Given", "--seeds", "1", "--store", store]
    settings = [f"--settings.{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    done = run("train", "Corridor", *given, "--steps", str(PERIOD), *settings)
    assert "1 finished" in done.out
    obs, _ = gymnasium.make("clew/Corridor-v0", knowledge=True).reset(seed=0)
    assert obs["knowledge"].tolist() == [0, 0, 1, 0, 1, 0, 0]


def test_proofs(suite: Path) -> None:
    told = json.loads(run("classify", "Corridor", "--options", "length=3", "--json").out)
    assert told["verdict"] == "dense"
    assert told["states"] == 9
    # back to the sign, two places to the fork, and the turn, which is paid in the fourth step
    assert told["optimal_return"] == "970299/1000000"  # .99³


def test_a_command(suite: Path, store: Path) -> None:
    module = str(suite.parent / "extension" / "count_command.py")
    done = run("count", str(store), "--times", "2", "--module", module)
    assert done.out == "20 runs\n"
    assert "count     Count the runs of a store." in run("--help").out
    assert "Count each so many times. (default: 1)" in run("count", "--help").out


def test_the_suite(store: Path) -> None:
    status = json.loads(run("status", str(store), "--json").out)
    arms = {(a["environment"], a["reward"], a["architecture"], a["bonus"]) for a in status["arms"]}
    assert (CORRIDOR, "penalty", "Leaky", "change") in arms
    assert ("TinyReproduce[k=2,v=2]", "half", "Leaky", "none") in arms


def test_who_brought_it(store: Path) -> None:
    run_of = next(path.name for path in store.glob("runs/corridor*change*"))
    shown = json.loads(run("show", run_of, "--store", str(store), "--episodes", "0", "--json").out)
    brought = dict.fromkeys(("environment", "architecture", "bonus"), "clew-corridor 0.1.0")
    assert shown["provenance"]["from"] == brought
    assert shown["config"]["environment_options"] == {"length": 3}
    assert not {"from", "modules", "package"} & shown["config"].keys()


def test_the_report(store: Path) -> None:
    run("report", str(store), "--proof-seconds", "0")
    page = (store / "report.html").read_text(encoding="utf-8")
    assert "Number of seeds of every arm" in page
    assert "Corridor[length=3] / penalty / Leaky / change" in page


def test_the_probes(suite: Path, store: Path) -> None:
    words = ("probe", str(suite), "--store", str(store), "--episodes", "30", "--json")
    probed = json.loads(run(*words).out.splitlines()[-1])
    corridor = [arm for arm in probed["arms"] if arm["environment"] == CORRIDOR]
    assert {(arm["architecture"], arm["bonus"]) for arm in corridor} == {
        ("Leaky", "none"),
        ("Leaky", "change"),
    }


def test_other_questions(suite: Path, store: Path) -> None:
    words = ("probe", str(suite), "--store", str(store), "--episodes", "30", "--json")
    done = called(*words, "--latent", "place")
    assert done.code == 3  # in so short a hall the answer is always the same
    skipped = json.loads(done.out.splitlines()[-1])["skipped"].values()
    assert "TinyReproduce[k=2,v=2] has no latent 'place'" in skipped
    one = next(store.glob("runs/corridor*/probe.json"))
    stored = json.loads(one.read_text())["data"]
    assert stored["protocol"]["latent"] == "place"
    assert [question["question"] for question in stored["questions"]] == ["at place 1"]
