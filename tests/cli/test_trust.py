"""A store may come from anybody: what it names is called only if the user named it too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clew import plugins
from clew.cli.task_verdicts import task_verdicts
from clew.cli.trust import untrusted
from clew.machines.tasks import TaskSpec

SYSTEM = "gymnasium.wrappers:rendering.os.system"
OWN = """
from subprocess import run
def make(): ...
class Wrap: ...
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that the user named."""
    (tmp_path / "my_maze.py").write_text(OWN, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "my_maze", raising=False)
    monkeypatch.setattr(plugins, "_in_use", {})
    plugins.use_modules(["my_maze"], tmp_path)


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        (SYSTEM, {"command": "true"}),
        ("gymnasium.wrappers:FlattenObservation", {}),
        ("os:system", {"command": "true"}),
        ("my_maze:make", {}),
        ("gymnasium:minigrid:MiniGrid-Empty-5x5-v0", {}),
        ("gymnasium:os:../x", {}),
        ("gymnasium:CartPole-v1", {"wrappers": [SYSTEM]}),
        ("gymnasium:CartPole-v1", {"wrappers": SYSTEM}),
        ("gymnasium:CartPole-v1", {"wrappers": {"my_maze:Wrap": 0}}),
        ("gymnasium:CartPole-v1", {"wrappers": [["my_maze:Wrap"]]}),
        ("gymnasium:CartPole-v1", {"wrappers": ["gymnasium:envs.registration.make"]}),
        ("gymnasium:CartPole-v1", {"wrappers": ["gymnasium.wrappers:TimeLimit", "my_maze:Wrap"]}),
        ("gymnasium:CartPole-v1", {"state": "os:getenv"}),
        ("gymnasium:CartPole-v1", {"state": "gymnasium.wrappers:TimeLimit"}),
    ],
)
def test_what_nobody_named_is_not_called(environment: str, options: dict[str, object]) -> None:
    assert untrusted(environment, options) is not None


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        ("gymnasium:CartPole-v1", {}),
        ("gymnasium:phys2d/CartPole-v1", {"wrappers": ()}),
        ("gymnasium:CartPole-v1", {"wrappers": ["gymnasium.wrappers:FlattenObservation"]}),
    ],
)
def test_what_is_gymnasiums_own_is(environment: str, options: dict[str, object]) -> None:
    assert untrusted(environment, options) is None


@pytest.mark.usefixtures("mine")
def test_of_a_named_module_its_own_things_are() -> None:
    assert untrusted("my_maze:make", {"wrappers": ["my_maze:Wrap"]}) is None
    for target in ("my_maze:run", "my_maze:run.__globals__", "my_maze:nothing"):
        assert untrusted(target, {}) is not None


def test_a_report_runs_no_command_of_a_store(tmp_path: Path) -> None:
    file = tmp_path / "made"
    task = TaskSpec(SYSTEM, "native", {"command": f"touch {file}; true"})
    (found,) = task_verdicts(tmp_path, {("x", "native"): task}, 5.0).values()
    assert not file.exists()
    assert "code that a store names is not run" in found.refused
    assert f"'command=touch {file}; true'" in found.refused  # one word, if it is pasted
