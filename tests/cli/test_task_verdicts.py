"""What a store keeps of proofs is believed only as this classifier wrote it."""

from __future__ import annotations

import json
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
