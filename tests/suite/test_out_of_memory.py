"""A pack that does not fit is halved, and everybody goes on: the same runs, the same bytes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

import clew.suite.training as training
from clew.cli.training import train_here
from clew.learner import Pack, Progress
from clew.store import Store, scan
from clew.suite import Outcome, PackProgress, Stop, plan, work
from clew.suite.launchers import WorkerConfig
from clew.suite.launchers.watching import ProgressWatcher
from clew.suite.planning import existing_plan
from clew.suite.worker import is_out_of_memory
from tests.suite.declared import PERIODS, tiny
from tests.suite.trial import results, trained

FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 99 bytes.")


def device_of(most: int, error: Exception = FULL, after: int = 0) -> Callable[..., Any]:
    """Training on a device that has room for so many runs, which shows after some periods."""
    train = training.periods

    def periods(pack: Pack, *rest: Any) -> Iterator[Progress]:
        for progress in train(pack, *rest):
            if len(pack) > most and progress.period > after:
                raise error
            yield progress

    return periods


def sizes(store: Path) -> list[int]:
    found = existing_plan(tiny(), Store(store))
    assert found is not None
    return [len(pack.runs) for pack in found.packs]


@pytest.mark.parametrize("error", [FULL, MemoryError()])
@pytest.mark.parametrize("after", [0, 3])
def test_a_pack_that_does_not_fit_is_halved(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, after: int
) -> None:
    """What it had learned until its last checkpoint is kept, too."""
    monkeypatch.setattr(training, "periods", device_of(1, error, after))
    outcome, told = trained(tiny(), tmp_path)
    assert outcome == (4, 0, "")
    assert sizes(tmp_path) == [1, 1, 1, 1]
    assert [progress.what for progress in told].count("split") == 2
    assert results(tmp_path) == results(finished)
    assert not list(tmp_path.glob("packs/*"))
    alone = [progress for progress in told if progress.name.split("-")[-2] == "x1"]
    trained_alone = [progress.period for progress in alone if progress.what == "training"]
    assert trained_alone == 4 * list(range(after + 1, PERIODS + 1))


def test_what_is_finished_in_it_is_not_trained_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    run, done = tiny().runs()[1], Store(finished, read_only=True)
    folder = done.run(run.config)
    parts = {"curve": folder.curve(), "diagnostics": folder.diagnostics(), "agent": folder.agent()}
    store.run(run.config).write_finished(folder.result(), **parts, provenance=folder.provenance())
    monkeypatch.setattr(training, "periods", device_of(1))
    outcome, told = trained(tiny(), tmp_path)
    assert outcome == (4, 0, "")
    found = [progress.name for progress in told if progress.what == "found"]
    assert [store.pack([run.config]).name] == found
    assert results(tmp_path) == results(finished)


def test_a_single_run_that_does_not_fit_fails_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "periods", device_of(0))
    outcome, told = trained(tiny(seeds=2), tmp_path)
    assert outcome.left == 0
    assert [progress.what for progress in told].count("failed") == 2
    for run in scan(Store(tmp_path)):
        assert run.status == "failed"
        assert run.reason.startswith("out of memory with a single run: give it less to hold")
        assert "RESOURCE_EXHAUSTED" in run.reason


@pytest.mark.parametrize(
    "said",
    [
        "RESOURCE_EXHAUSTED: Out of memory allocating 7 bytes.",
        "INTERNAL: Error dispatching computation: Out of memory allocating 16659398808 bytes.",
    ],
)
def test_how_devices_say_it(said: str) -> None:
    assert is_out_of_memory(jax.errors.JaxRuntimeError(said))


def test_other_errors_are_not_the_memorys() -> None:
    assert not is_out_of_memory(jax.errors.JaxRuntimeError("INTERNAL: something"))
    assert not is_out_of_memory(ValueError("RESOURCE_EXHAUSTED"))


def test_two_workers_agree_on_the_halves(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has read the plan before either has changed it; one has room for more than the other."""
    everything = training.periods
    small = device_of(1)

    def periods(pack: Pack, *rest: Any) -> Iterator[Progress]:
        mine = small if threading.current_thread().name == "small" else everything
        yield from mine(pack, *rest)

    monkeypatch.setattr(training, "periods", periods)
    ended: dict[str, Outcome] = {}
    told: list[PackProgress] = []
    together = threading.Barrier(2)

    def worker() -> None:
        store = Store(tmp_path)
        packs = plan(tiny(), store, 4)
        together.wait()
        outcome = work(store, packs, Stop(), told.append, checkpoint_every=0)
        ended[threading.current_thread().name] = outcome

    monkeypatch.setattr("clew.suite.worker.POLL", 0.05)
    watcher = ProgressWatcher(Store(tmp_path), tiny())
    threads = [threading.Thread(target=worker, name=name) for name in ("small", "large")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert [outcome.left for outcome in ended.values()] == [0, 0]
    assert results(tmp_path) == results(finished)
    seen = [(p.name, p.period) for p in told if p.what == "training"]
    assert len(seen) == len(set(seen))
    assert watcher.periods is None
    list(watcher.updates())
    assert watcher.periods == PERIODS * len(sizes(tmp_path))


def test_the_command_says_so_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "periods", device_of(1))
    assert train_here(WorkerConfig(suite=tiny(), store=tmp_path, pack_size=2)) == 0
    said = capsys.readouterr().out
    assert said.count("out of memory; its runs go on in smaller packs") == 2
    assert "4 finished" in said


def test_a_script_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "periods", device_of(1))
    config = WorkerConfig(suite=tiny(), store=tmp_path, pack_size=2, logs=("tensorboard",))
    assert train_here(config, as_json=True) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["what"] for line in told[:-1]].count("split") == 2
    assert len(list((tmp_path / "tensorboard").glob("*/events.*"))) == 4
