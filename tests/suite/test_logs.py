"""Logs: live, every point once however often a run was stopped, and the same for both readers."""

from __future__ import annotations

import errno
import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.cli.training import train_here
from clew.store import CannotWrite, RunFolder, Store
from clew.suite import PackProgress
from clew.suite.launchers import WorkerConfig
from clew.suite.logs import KINDS, Kind, Row, chosen, log_finished, rows_of_finished
from clew.suite.tensorboard import TensorBoardLog
from clew.validate import BadInput
from tests.store.faults import failing, nth, watched
from tests.suite.declared import PERIOD, PERIODS, tiny
from tests.suite.event_files import events
from tests.suite.trial import Trial, results, trained, wait_for

BOTH: tuple[Kind, ...] = ("tensorboard", "wandb")
EVALUATION = {"success", "return", "length"}
TRAINING = {
    "episodes", "successes", "reward", "bonus", "normalised", "delivered", "explained_variance",
    "policy_loss", "value_loss", "entropy", "kl", "clipped", "ratio_error", "first_ratio_error",
    "minibatches", "finite",
}  # fmt: skip

needs_wandb = pytest.mark.skipif(
    importlib.util.find_spec("wandb") is None, reason="wandb is not installed"
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")


def runs_of(root: Path, **changes: Any) -> list[RunFolder]:
    store = Store(root)
    return [store.run(run.config) for run in tiny(**changes).runs()]


def board(root: Path, run: RunFolder) -> list[Row]:
    """What the only event file of a run says."""
    (file,) = (root / "tensorboard" / run.name).glob("events.*")
    return events(file.read_bytes())


def weights_and_biases(root: Path, run: RunFolder) -> list[dict[str, Any]]:
    """The records of a run's only offline folder, by wandb's own reader."""
    (folder,) = (root / "wandb").glob(f"offline-run-*-{run.identity[:16]}*")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(folder)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def history(records: list[dict[str, Any]]) -> list[Row]:
    rows = [record["history"] for record in records if record["type"] == "history"]
    return [
        (row["step"]["num"], {k: v for k, v in row["item"].items() if not k.startswith("_")})
        for row in rows
    ]


def agree(logged: Sequence[Row], wanted: Sequence[Row]) -> None:
    assert [step for step, _ in logged] == [step for step, _ in wanted]
    for (_, mine), (_, theirs) in zip(logged, wanted, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-6, nan_ok=True)


def test_what_is_logged(finished: Path) -> None:
    """Under the field's names; every rollout, and with the last of a period its evaluation."""
    run = runs_of(finished)[0]
    rows, result = rows_of_finished(run), run.result()
    names = {f"eval/{name}" for name in EVALUATION} | {f"train/{name}" for name in TRAINING}
    names |= {f"{part}/events/{event}" for part in ("eval", "train") for event in result["events"]}
    names |= {f"train/gradient_norm/{part}" for part in result["components"]}
    assert set().union(*(row for _, row in rows)) == names
    assert [step for step, _ in rows] == [PERIOD // 2 * n for n in range(1, 2 * PERIODS + 1)]
    curve, diagnostics = run.curve(), run.diagnostics()
    for i, (step, row) in enumerate(rows):
        assert row["train/entropy"] == diagnostics["report/mean/entropy"][i]
        assert ("eval/success" in row) == (step % PERIOD == 0)
        if step % PERIOD == 0:
            assert row["eval/return"] == curve["reward"][step // PERIOD - 1]


def test_live_and_once_however_often_it_stops(finished: Path, tmp_path: Path) -> None:
    """After each period it is there to that period; a stop after every period changes nothing."""
    runs, wanted = runs_of(tmp_path), [rows_of_finished(run) for run in runs_of(finished)]

    files: set[Path] = set()

    def look(progress: PackProgress) -> bool:
        if progress.what == "training":
            here = [run for run in runs if run.path.exists() and not run.finished()]
            at = PERIOD * progress.period
            seen = [board(tmp_path, run)[-1][0] for run in here]
            assert seen.count(at) == 2, (seen, at)
        return progress.what == "training"

    rounds = 0
    while trained(tiny(), tmp_path, until=look, logs=("tensorboard",))[0].left:
        rounds += 1
        files.update(tmp_path.glob("tensorboard/*/events.*"))
    assert rounds >= PERIODS
    assert len(files) == len(runs)  # the same file goes on
    assert results(tmp_path) == results(finished)
    for run, rows in zip(runs, wanted, strict=True):
        agree(board(tmp_path, run), rows)
        assert TensorBoardLog.is_complete(tmp_path, run)


def test_a_torn_or_missing_log_is_made_again(finished: Path, tmp_path: Path) -> None:
    """Killed while it wrote; begun without a log; the folder removed by hand: nothing is lost."""
    trained(tiny(), tmp_path, until=lambda step: step.period == 3, logs=("tensorboard",))
    runs = runs_of(tmp_path)
    (file,) = (tmp_path / "tensorboard" / runs[0].name).glob("events.*")
    file.write_bytes(file.read_bytes()[:-7])
    shutil.rmtree(tmp_path / "tensorboard" / runs[1].name)
    trained(tiny(), tmp_path, until=lambda step: step.period == 4)  # without a log
    removed = []

    def remove(step: PackProgress) -> bool:
        if step.period == 5 and not removed:
            removed.append(shutil.rmtree(tmp_path / "tensorboard" / runs[1].name))
        return False

    trained(tiny(), tmp_path, until=remove, logs=("tensorboard",))
    assert results(tmp_path) == results(finished)
    agree(board(tmp_path, runs[0]), rows_of_finished(runs[0]))
    assert not list((tmp_path / "tensorboard" / runs[1].name).glob("events.*"))
    # what is not there is written when it is asked for again
    shutil.rmtree(tmp_path / "tensorboard" / runs[1].name)
    assert log_finished(Store(tmp_path), runs, ("tensorboard",)) == [runs[1].name]
    assert log_finished(Store(tmp_path), runs, ("tensorboard",)) == []
    for run in runs:
        agree(board(tmp_path, run), rows_of_finished(run))


def test_a_full_disk_is_a_message(finished: Path, tmp_path: Path) -> None:
    run = runs_of(finished)[0]
    log = TensorBoardLog(tmp_path, run, [(1, {"x": 1.0})])
    for write in (
        lambda: TensorBoardLog(tmp_path / "other", run, []),
        lambda: log.write([(2, {"x": 1.0})]),
    ):
        with (
            pytest.raises(CannotWrite, match="No space left"),
            watched(nth(0, failing(errno.ENOSPC), ("write",))),
        ):
            write()
    assert board(tmp_path, run) == [(1, {"x": 1.0})]


def test_a_missing_package_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert chosen(tensorboard=True, wandb=False) == ("tensorboard",)
    with pytest.raises(BadInput, match=r"needs wandb, .*: pip install 'clew\[wandb\]'"):
        chosen(tensorboard=True, wandb=True)


def test_tensorboard_reads_it(finished: Path, tmp_path: Path) -> None:
    """Its own reader, which has read the old file when the run is resumed with a new one."""
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is missing"
    )
    trained(tiny(), tmp_path, until=lambda step: step.period == 3, logs=("tensorboard",))
    run = runs_of(tmp_path)[0]
    open_before = reader.EventAccumulator(str(tmp_path / "tensorboard" / run.name)).Reload()
    assert [e.step for e in open_before.Scalars("eval/success")] == [PERIOD, 2 * PERIOD, 3 * PERIOD]
    trained(tiny(), tmp_path, logs=("tensorboard",))
    afresh = reader.EventAccumulator(str(tmp_path / "tensorboard" / run.name))
    wanted = rows_of_finished(run)
    for found in (open_before.Reload(), afresh.Reload()):
        assert set(found.Tags()["scalars"]) == set().union(*(row for _, row in wanted))
        for name in ("eval/success", "train/kl", "train/gradient_norm/actor memory"):
            logged = [(event.step, {name: event.value}) for event in found.Scalars(name)]
            agree(logged, [(step, {name: row[name]}) for step, row in wanted if name in row])


@needs_wandb
def test_wandb_has_the_same(tmp_path: Path) -> None:
    """Two runs at a time in one process, stopped in the middle, offline, without an account."""
    pair = tiny(seeds=2)
    trained(pair, tmp_path, until=lambda step: step.period == 3, logs=BOTH)
    trained(pair, tmp_path, logs=BOTH)
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 2
    groups = set()
    for run in runs_of(tmp_path, seeds=2):
        records = weights_and_biases(tmp_path, run)
        agree(history(records), rows_of_finished(run))
        agree(history(records), board(tmp_path, run))
        (about,) = (record["run"] for record in records if record["type"] == "run")
        assert about["project"] == "clew"
        assert about["display_name"] == run.name
        given = {k: v for k, v in about["config"]["update"].items() if k != "_wandb"}
        assert given == run.config
        groups.add(about["run_group"])
        assert KINDS["wandb"].is_complete(tmp_path, run)
    (group,) = groups
    assert group.startswith("tinyreproduce-dense-memoryless-none-")


@needs_wandb
def test_wandb_gets_what_was_finished_before(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(finished, root)
    runs = runs_of(root)[:1]
    for logged in (1, 0):
        assert len(log_finished(Store(root), runs, ("wandb",))) == logged
    agree(history(weights_and_biases(root, runs[0])), rows_of_finished(runs[0]))


@needs_wandb
def test_without_an_account_it_is_offline(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked of anybody, and nothing is sent."""
    monkeypatch.delenv("WANDB_MODE")
    for name in ("HOME", "NETRC", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    run = runs_of(finished)[0]
    KINDS["wandb"](tmp_path, run, [(7, {"x": math.pi})]).close("stopped")
    assert history(weights_and_biases(tmp_path, run)) == [(7, {"x": math.pi})]
    assert not KINDS["wandb"].is_complete(tmp_path, run)


@pytest.mark.slow
def test_workers_that_are_killed_leave_logs_that_go_on(tmp_path: Path) -> None:
    """`clew run --workers 2`, kill −9 of all of it; Ctrl-C, which reaches wandb's process too."""
    kinds = BOTH if importlib.util.find_spec("wandb") else BOTH[:1]
    flags = [f"--{kind}" for kind in kinds]
    steps, store = PERIOD * 120, tmp_path / "store"
    trial = Trial(tmp_path, steps=steps)
    for number, workers, code in ((signal.SIGKILL, 2, -9), (signal.SIGINT, 1, 4)):
        before = set(store.glob("packs/*/*.npz"))
        process = trial.start(store, "--workers", str(workers), *flags, group=True)
        wait_for(lambda: len({*store.glob("packs/*/*.npz")} - before) > 1, process)  # noqa: B023
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=300)
        assert process.returncode == code, said
    undisturbed = tmp_path / "undisturbed"
    suite = tiny(steps=steps)
    for folder, logs in ((store, kinds), (undisturbed, ())):
        assert train_here(WorkerConfig(suite=suite, store=folder, pack_size=2, logs=logs)) == 0
    assert results(store) == results(undisturbed)
    for run in runs_of(store, steps=steps):
        agree(board(store, run), rows_of_finished(run))
        if "wandb" in kinds:
            agree(history(weights_and_biases(store, run)), rows_of_finished(run))
