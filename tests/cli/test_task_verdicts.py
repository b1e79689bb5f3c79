"""What a store keeps of proofs is believed only as this classifier wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.cli import task_verdicts as module
from clew.cli.task_verdicts import KEPT, task_verdicts
from clew.machines.tasks import TaskSpec, TaskVerdict, decide
from clew.store import documents
from tests.store.things import SPOIL

NAME = ("TinyReproduce[k=2,v=3]", "dense")


@pytest.fixture(scope="module")
def proved() -> TaskVerdict:
    verdict = decide(TaskSpec("TinyReproduce", "dense", {"k": 2, "v": 3}, discount="9/10"))
    assert verdict.summary is not None
    return verdict


def known(store: Path, proved: TaskVerdict) -> TaskVerdict:
    return task_verdicts(store, {NAME: proved.task}, 0)[NAME]


def kept(store: Path, proved: TaskVerdict) -> Path:
    module.keep(store, {proved.task.key: proved})
    assert known(store, proved) == proved
    return store / KEPT


def test_an_edited_verdict_is_not_believed(tmp_path: Path, proved: TaskVerdict) -> None:
    assert proved.summary is not None
    file, now = kept(tmp_path, proved), proved.summary["verdict"]
    other = {"dense": "sparse", "sparse": "dense"}[now]
    edited = file.read_text().replace(f'verdict\\": \\"{now}', f'verdict\\": \\"{other}')
    assert edited != file.read_text()
    file.write_text(edited)
    assert known(tmp_path, proved).summary is None


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_spoilt_file_counts_as_none(tmp_path: Path, proved: TaskVerdict, spoil: str) -> None:
    file = kept(tmp_path, proved)
    file.write_bytes(SPOIL[spoil](file.read_bytes(), 1234))
    assert known(tmp_path, proved).summary is None
    kept(tmp_path, proved)


def test_a_folder_in_its_place(tmp_path: Path, proved: TaskVerdict) -> None:
    (tmp_path / KEPT).mkdir()
    assert known(tmp_path, proved).summary is None


@pytest.mark.parametrize(
    "change",
    [
        {"task": None},
        {"task": {}},
        {"task": {"environment": 3, "reward": "dense"}},
        {"summary": []},
        {"summary": {}},
        {"summary": {"verdict": "dense"}},
        {"refused": 7},
        {"smaller": "k"},
    ],
    ids=str,
)
def test_a_sealed_file_that_says_something_else(
    tmp_path: Path, proved: TaskVerdict, change: Mapping[str, Any]
) -> None:
    """Whoever forges the checksum too gets no traceback out of it."""
    file = kept(tmp_path, proved)
    whole = json.loads(file.read_text())
    finding = json.loads(whole["data"][0]["finding"])
    whole["data"][0]["finding"] = json.dumps(finding | change)
    header = documents.Header("proofs", "store")
    documents.write_document(file, header, whole["data"])
    assert known(tmp_path, proved).summary is None


def test_another_classifier_asks_again(
    tmp_path: Path, proved: TaskVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path, proved)
    monkeypatch.setattr(module, "classifier", lambda: "another")
    assert known(tmp_path, proved).summary is None


def test_worlds_from_outside_are_decided_again(
    tmp_path: Path, proved: TaskVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their code may have changed: no verdict on them is kept, nor believed."""
    file = kept(tmp_path, proved)
    monkeypatch.setattr(module, "_from_outside", lambda task: True)
    assert known(tmp_path, proved).summary is None
    file.unlink()
    monkeypatch.setattr(module, "ask", lambda tasks, seconds: {proved.task.key: proved})
    assert known(tmp_path, proved).summary == proved.summary
    assert not file.exists()


def test_a_world_that_is_not_here(tmp_path: Path, proved: TaskVerdict) -> None:
    absent = replace(proved, task=replace(proved.task, environment="Mine"))
    assert known(tmp_path, absent).refused.startswith(
        "there is no environment 'Mine' here: install"
    )


def test_the_classifier_is_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clew, "__file__", str(tmp_path / "__init__.py"))
    file = tmp_path / "machines" / "deciding.py"
    file.parent.mkdir()

    def now(text: str) -> str:
        file.write_text(text)
        return module.classifier.__wrapped__()

    assert now("x = 1") == now("x = 1") != now("x = 2")


LAKE = TaskSpec("gymnasium:FrozenLake-v1", "native", {"is_slippery": False, "success_return": 1})


def test_a_gymnasium_environment_is_decided(tmp_path: Path) -> None:
    """As by `clew classify`, but what it says may change with its package: it is not kept."""
    finding = task_verdicts(tmp_path, {NAME: LAKE}, 100)[NAME]
    assert finding.summary is not None
    assert (finding.summary["states"], finding.summary["verdict"]) == (16, "dense")
    assert finding.refused == ""
    assert not (tmp_path / KEPT).exists()
    assert task_verdicts(tmp_path, {NAME: LAKE}, 0)[NAME].refused == (
        "it was not decided within 0 s; without a limit: clew classify gymnasium:FrozenLake-v1 "
        "--options is_slippery=false success_return=1 reward=native discount=99/100"
    )


@pytest.mark.parametrize(
    ("environment", "options", "called"),
    [
        ("mine:make", {}, "mine:make"),
        ("gymnasium:mine:Maze-v0", {}, "gymnasium:mine:Maze-v0"),
        ("gymnasium:FrozenLake-v1", {"wrappers": ["mine:Wrap"]}, "mine:Wrap"),
        ("gymnasium:FrozenLake-v1", {"state": "mine:state"}, "mine:state"),
    ],
)
def test_code_that_a_store_names_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, options: Any, called: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("open('was here', 'w')")
    task = TaskSpec(environment, "native", options)
    finding = task_verdicts(tmp_path, {NAME: task}, 30)[NAME]
    assert finding.summary is None
    assert f"{called!r} would be called" in finding.refused
    assert "--module mine; by hand: clew classify" in finding.refused
    assert not (tmp_path / "was here").exists()


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (replace(LAKE, reward="sparse"), "what 'sparse' pays is judged when an episode has ended"),
        (replace(LAKE, prices={"reward": 1.0, "success": 1.0}), "the reward that it pays itself"),
        (replace(LAKE, options={"speed": 3}), "cannot be made"),
        (
            TaskSpec("gymnasium:CartPole-v1", "native"),
            "begins in more ways than 1,000 seeds show, because",
        ),
    ],
)
def test_a_gymnasium_environment_that_cannot_be_decided(task: TaskSpec, why: str) -> None:
    finding = decide(task)
    assert finding.summary is None
    assert re.search(why, finding.refused)
    assert f"; by hand: clew classify {task.environment} --options" in finding.refused
    assert "reward=native" in finding.refused
