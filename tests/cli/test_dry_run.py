"""`clew run --dry-run`, and suites that are too large to be meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.cli.dry_run import counted, idle_cores, number, sentences, size
from clew.store import Store, scan, world_name
from clew.suite.forecast import Forecast, TaskForecast
from tests.cli.called import called
from tests.store.things import contents
from tests.suite.declared import as_toml, declared, tiny

GOLDEN = Path(__file__).parents[1] / "golden" / "store-1"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "mine.toml"
    path.write_text(as_toml(declared(seeds=5)))
    return path


def test_nothing_is_trained_or_written(file: Path, tmp_path: Path) -> None:
    done = called("run", str(file), "--dry-run", "--store", str(tmp_path / "new"))
    assert (done.code, done.err) == (0, "")
    told = " ".join(done.out.split())
    assert "TinyReproduce[k=2,v=2] 5" in told
    assert "5 runs in " in told
    assert "of 1 program; about " in told
    assert "a rough guess, ± a factor of two" in told
    assert "Nothing was trained or written." in told
    assert max(map(len, done.out.splitlines())) <= 80
    words = ("--dry-run", "--on", "ray", "--store", str(tmp_path / "new"))
    assert "Workers on ray plan packs for their own devices" in called("run", str(file), *words).out
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_what_is_done_and_what_failed(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for run in tiny(seeds=5).runs()[:2]:
        store.run(run.config).write_failed("it broke", provenance={})
    before = contents(store.root)
    words = ("run", str(file), "--store", str(store.root), "--pack-size", "1", "--dry-run")
    told = " ".join(called(*words).out.split())
    assert "runs done failed to do packs programs" in told
    assert "2 failed before and stay as they are; --retry trains them." in told
    assert "3 of 5 runs are left, in 3 packs of 1 program" in told
    assert "5 runs in 5 packs" in " ".join(called(*words, "--retry").out.split())
    plain = json.loads(called(*words, "--json").out)
    assert plain["total"]["failed"] == 2
    assert plain["tasks"][0]["todo"] == 3
    assert contents(store.root) == before


def test_options_are_whole_and_as_a_report_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = {"actions": "cardinal", "max_steps": 1280, "origin_sides": [0, 1], "size": 4}
    block = {"environment": "MysteryPath-Grid", "rewards": ["sparse"], "seeds": 5}
    file, store = tmp_path / "mine.toml", Store(tmp_path / "store")
    file.write_text(as_toml(declared(environment_options=options, **block)))
    suite = tiny(environment_options=options, **block)
    store.run(suite.runs()[0].config).write_failed("it broke", provenance={})
    words = ("run", str(file), "--store", str(store.root), "--dry-run")
    done = called(*words)
    assert done.code == 0, done
    told = done.out.splitlines()
    name, chosen, numbers = told[2:5]
    assert name == "MysteryPath-Grid"  # above the numbers, having no room beside them
    assert chosen == "  [actions=cardinal, max_steps=1280, origin_sides=[0, 1], size=4]"
    assert numbers.split()[:4] == ["5", "0", "1", "4"]
    assert max(map(len, told)) <= 80
    beside = called(*words[:2], "--dry-run", "--store", str(tmp_path / "new")).out.splitlines()
    assert [line[:34].strip() for line in beside[2:6]] == [
        "MysteryPath-Grid", "[actions=cardinal,", "max_steps=1280,", "origin_sides=[0, 1], size=4]"
    ]  # fmt: skip
    (task,) = json.loads(called(*words, "--json").out)["tasks"]
    assert task["task"] == world_name(scan(store)[0].config)
    assert "origin_sides=[0, 1]" in task["task"]


def test_a_folder_that_is_no_store(file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert called("run", str(file), "--dry-run", "--store", str(tmp_path / "empty")).code == 0
    done = called("run", str(file), "--dry-run", "--store", str(tmp_path))
    assert done.code == 2
    assert "is not a store" in done.err


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_too_many_runs_are_refused_in_a_sentence(tmp_path: Path, dry: list[str]) -> None:
    rates = [n / 1000 for n in range(1, 51)]
    file, store = tmp_path / "huge.toml", tmp_path / "store"
    file.write_text(as_toml(declared(seeds=100_000, knobs={"learning_rate": rates})))
    done = called("run", str(file), "--store", str(store), *dry)
    assert done.code == 2
    assert "huge has 5,000,000 runs, 3.8 G environment steps in all" in done.err
    assert "add --yes if you mean it" in done.err
    assert done.err.count("\n") == 1
    assert not store.exists()
    words = ["TinyReproduce", "--reward", "dense", "--architecture", "GRU", "--steps", "100000"]
    done = called("train", *words, "--seeds", "30000", "--store", str(store), *dry)
    assert done.code == 2
    assert "30,000 runs" in done.err
    assert not store.exists()


def test_yes_is_listened_to(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.cli.dry_run.MOST_RUNS", 4)
    words = ("run", str(file), "--dry-run", "--store", str(tmp_path / "new"))
    assert called(*words).code == 2
    assert "5 runs in" in called(*words, "--yes").out


def test_one_arm(tmp_path: Path) -> None:
    words = ["TinyReproduce", "--reward", "dense", "--architecture", "GRU", "--steps", "100000"]
    done = called("train", *words, "--seeds", "3", "--dry-run", "--store", str(tmp_path / "new"))
    assert done.code == 0
    assert "3 runs in" in done.out
    assert not (tmp_path / "new").exists()


def test_steps_that_no_whole_period_takes_are_mentioned(tmp_path: Path) -> None:
    words = ["TinyReproduce", "--reward", "dense", "--architecture", "GRU", "--dry-run"]
    words += ["--seeds", "1", "--store", str(tmp_path / "new"), "--steps"]
    told = " ".join(called("train", *words, "150000").out.split())
    assert (
        "caution: of steps=150,000 a run trains 81,920, as whole periods (eval_every × envs × "
        "steps of the settings) of 81,920; steps=163840 would be 2 of them"
    ) in told
    for steps in ("163840", "10000000"):
        assert "caution" not in called("train", *words, steps).out


def test_the_sentences() -> None:
    task = TaskForecast("x", 60, 12, 2, 46, 1, 1, 3_700_000, 240.0, 12_000_000)
    found = Forecast([task], "cpu", "cpu", 2, 12, True, 900)
    failed, much, rests = sentences(found, False)
    assert failed.startswith("2 failed before")
    assert much == (
        "46 of 60 runs are left, in 1 pack of 1 program; about 4 min on this machine (2 cores); "
        "12 MB, and 900 B for checkpoints while it trains."
    )
    assert rests == (
        "The time rests on 12 finished runs of this store; for the others, on a rough guess, "
        "± a factor of two, from steps and sizes measured on two x86 cores."
    )
    on_gpu = found._replace(platform="gpu", device="NVIDIA H200")
    assert "(NVIDIA H200)" in sentences(on_gpu, True)[0]
    assert "an NVIDIA H200" in sentences(on_gpu, True)[1]


def test_idle_cores_are_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.cli.dry_run.cores", lambda: 16)
    monkeypatch.setattr("clew.learner.execution.cores", lambda: 16)
    assert idle_cores(20, 1) == (
        "This machine has 16 cores, and 1 worker uses 2 of them: --workers 8 is faster."
    )
    assert "3 workers use 6 of them: --workers 5" in idle_cores(5, 3)
    assert [idle_cores(1, 1), idle_cores(20, 8), idle_cores(20, 16)] == ["", "", ""]


def test_numbers_for_people() -> None:
    values = (7, 950, 1000, 82_000, 4_940_000, 36e9, 1.2e13)
    assert [number(v) for v in values] == ["7", "950", "1.0 k", "82 k", "4.9 M", "36 G", "12 T"]
    assert [size(v) for v in (3, 12e6)] == ["3 B", "12 MB"]
    assert [counted(n, "pack") for n in (1, 2000)] == ["1 pack", "2,000 packs"]
