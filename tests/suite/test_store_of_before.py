"""A store that was written once and kept: whatever later versions do, they read it and go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from clew.cli.commands.probe import probe
from clew.cli.commands.report import report
from clew.cli.commands.show import show
from clew.cli.commands.status import status
from clew.cli.training import train_here
from clew.store import Store, scan
from clew.suite import PackProgress, Stop, find_suite, from_config, plan, work
from clew.suite.launchers import WorkerConfig
from tests.store.things import contents

GOLDEN = Path(__file__).parents[1] / "golden"
SUITE, LONGER = str(GOLDEN / "store-1.toml"), str(GOLDEN / "store-1-longer.toml")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "store-1", tmp_path / "store"))


def test_status(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(store)
    status(store, deep=True, json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"begun": 2, "finished": 8}
    assert told["troubles"] == []
    assert contents(store) == before


def test_every_run_has_its_name(store: Path) -> None:
    for run in scan(Store(store, read_only=True)):
        assert from_config(run.config).identity == run.identity


def test_what_is_finished_is_not_trained_again(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(store / "runs")
    config = WorkerConfig(suite=find_suite(SUITE), store=store)
    assert train_here(config, as_json=True) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["what"] for line in told[:-1]} == {"found"}
    assert contents(store / "runs") == before


def test_what_was_interrupted_goes_on_where_it_was(store: Path) -> None:
    opened, suite, stop = Store(store), find_suite(LONGER), Stop()
    packs, seen = plan(suite, opened), list[int]()
    checkpoints = packs.packs[0].folder(opened).checkpoints
    before, files = checkpoints.latest(), contents(store / "runs")
    assert before is not None

    def watch(progress: PackProgress) -> None:
        seen.append(progress.period)
        stop._reason = "that is enough" if progress.period >= before.step + 3 else ""

    assert work(opened, packs, stop, watch).left == 1
    assert seen[:2] == [before.step, before.step + 1]
    after = checkpoints.latest()
    assert after is not None
    assert after.step == before.step + 3
    for name, array in before.arrays.items():
        if name.startswith("record/"):
            assert np.array_equal(after.arrays[name][:, : array.shape[1]], array)
    assert contents(store / "runs") == files


def test_show_and_play(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / "film.gif"
    show("tinyreproduce-dense-gru-e3b-s0", store, gif=film, episodes=1, json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["result"]["tail_mean"] == 1.0
    assert len(told["curve"]["success"]) == 6
    assert film.stat().st_size


def test_report(store: Path) -> None:
    report(store, proof_seconds=0.0)
    page = (store / "report.html").read_text(encoding="utf-8")
    assert "TinyReproduce[k=2,v=2]" in page
    assert "Memoryless" in page


def test_probe(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="3"):  # they solve it, so every label is the same
        probe(SUITE, store, episodes=20, json=True)
    assert "every label of the test episodes is 1" in capsys.readouterr().out
    assert len(list(store.glob("runs/*-gru-*/probe.json"))) == 4
