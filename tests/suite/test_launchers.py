"""What launchers are told, how many workers fit, and exit codes: all without a cluster."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.cli import training as command
from clew.store import Store
from clew.suite import Block, PackProgress, Stop, Suite, plan
from clew.suite.launchers import NAMES, Resources, WorkerConfig, launcher, run_worker
from clew.suite.launchers.base import workers_that_fit
from clew.suite.progress import publishing
from clew.suite.worker import write_line
from clew.validate import BadInput
from tests.store.things import outcome

SUITE = Suite(
    name="small",
    blocks=[
        Block(
            environment="TinyReproduce",
            environment_options={"k": 2, "v": 2},
            rewards=["sparse"],
            architectures=["Memoryless"],
            bonuses=["none"],
            seeds=3,
            steps=100_000,
        )
    ],
)
Tell = Callable[[str], None]
NODES = st.lists(
    st.fixed_dictionaries({"CPU": st.integers(0, 64)}, optional={"GPU": st.integers(0, 8)}),
    max_size=6,
)
MAYBE = st.none() | st.integers(1, 70)


@given(NODES, st.builds(Resources, gpus=st.none() | st.integers(0, 1), cpus=MAYBE, workers=MAYBE))
def test_the_workers_chosen_are_those_that_fit(
    nodes: list[dict[str, int]], wanted: Resources
) -> None:
    try:
        found = workers_that_fit(nodes, wanted)
    except BadInput:
        needs_gpu = wanted.gpus or (
            wanted.gpus is None and any(node.get("GPU", 0) for node in nodes)
        )
        enough = wanted.cpus or 1
        assert not [n for n in nodes if n["CPU"] >= enough and (not needs_gpu or n.get("GPU", 0))]
        found = None
    assume(found is not None)
    assert found is not None
    assert found.workers == (wanted.workers or found.workers)
    assume(wanted.workers is None)
    left = [dict(node) for node in nodes]
    for _ in range(found.workers):
        home = next(n for n in left if n["CPU"] >= found.cpus and n.get("GPU", 0) >= found.gpus)
        home["CPU"] -= found.cpus
        home["GPU"] = home.get("GPU", 0) - found.gpus
    assert not [n for n in left if n["CPU"] >= found.cpus and n.get("GPU", 0) >= found.gpus]


@pytest.mark.parametrize(
    ("field", "value"),
    [("workers", 0), ("gpus", 2), ("cpus", 0), ("job_time", "1m"), ("job_time", "soon")],
)
def test_mistakes_name_the_field_and_the_value(field: str, value: Any) -> None:
    with pytest.raises(BadInput, match=f"{field}={value!r}"):
        Resources(**{field: value})


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [("local", "gpus", 1), ("local", "job_time", "1h"), ("ray", "partition", "gpu")],
)
def test_what_means_nothing_there_is_refused(place: str, field: str, value: Any) -> None:
    with pytest.raises(BadInput, match=f"{field}={value!r}.*--on {place}"):
        Resources(**{field: value}).only_for(place)
    Resources(**{field: value}).only_for("slurm")


@pytest.mark.parametrize("place", NAMES)
def test_a_missing_extra_is_named(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=rf"pip install 'clew\[{place}\]'"):
        launcher(place)


@pytest.mark.parametrize("error", [Exception, ConnectionError, RuntimeError])
def test_a_ray_that_does_not_start_is_told_in_a_sentence(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray raises a bare `Exception` when a node is not up in time."""

    def init(**options: Any) -> None:
        raise error("The node timed out.\nMuch more.")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    monkeypatch.delitem(sys.modules, "clew.suite.launchers.ray", raising=False)
    launch = importlib.import_module("clew.suite.launchers.ray").launch
    config = WorkerConfig(suite=SUITE, store=tmp_path / "store")
    with pytest.raises(BadInput, match=r"^Ray did not start.*: The node timed out\.$"):
        launch(config, Resources(), Stop(), print)
    monkeypatch.delitem(sys.modules, "clew.suite.launchers.ray")


def test_a_worker_without_time_leaves_all(tmp_path: Path) -> None:
    with Stop(0.0) as stop:
        ended = run_worker(WorkerConfig(suite=SUITE, store=tmp_path / "store", pack_size=2), stop)
    assert (ended.finished, ended.left, ended.stopped) == (0, 2, "the time limit is reached")


def test_a_log_that_cannot_be_written_is_not_what_ends_a_worker(tmp_path: Path) -> None:
    step = PackProgress("pack-00000000", "training", 1, 2)
    log, taken = tmp_path / "new" / "log", tmp_path / "taken"
    for _ in range(2):
        write_line(log, step)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["period"] for line in lines] == [1, 1]
    taken.touch()
    write_line(taken / "log", step)
    if os.path.exists("/dev/full"):
        write_line(Path("/dev/full"), step)


def finish(store: Store, status: str) -> None:
    for seed, run in enumerate(SUITE.runs()):
        if status == "failed":
            store.run(run.config).write_failed("it broke", provenance={})
        elif status == "finished" or seed:
            store.run(run.config).write_finished(**outcome(seed))


@pytest.mark.parametrize(
    ("status", "failures", "code"),
    [
        ("finished", [], 0),
        ("failed", [], 3),
        ("one left", [], 4),
        ("one left", ["a worker failed"], 5),
        ("finished", ["a worker failed"], 5),
    ],
)
def test_the_exit_code_tells(
    status: str,
    failures: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def launch(
        config: WorkerConfig, _: Resources, stop: Stop, tell: Callable[[str], None]
    ) -> list[str]:
        finish(Store(config.store), status)
        tell("sent out")
        return failures

    monkeypatch.setattr(command, "launcher", lambda place: launch)
    config = WorkerConfig(suite=SUITE, store=tmp_path / "store")
    assert command.train_on_cluster("slurm", config, Resources()) == code
    said = capsys.readouterr()
    assert "sent out" in said.out
    assert said.err.count("a worker failed") == len(failures)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_workers_tell_is_shown_as_if_they_were_here(
    as_json: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[PackProgress] = []

    def launch(
        config: WorkerConfig, _: Resources, stop: Stop, tell: Callable[[str], None]
    ) -> list[str]:
        store = Store(config.store)
        tell("")
        for each in plan(config.suite, store, 2).packs:
            name = store.pack([run.config for run in each.runs]).name
            with store.claims().take(name) as lease:  # type: ignore[union-attr]
                for what in ("compiling", "training", "finished"):
                    period = 0 if what == "compiling" else each.periods
                    step = PackProgress(
                        name, what, period, each.periods, 900, 3.0 * (period > 0), 0.5, 9.0
                    )
                    publishing(lease, told.append)(step)
                    tell("")
        return []

    monkeypatch.setattr(command, "launcher", lambda place: launch)
    config = WorkerConfig(suite=SUITE, store=tmp_path / "store")
    assert command.train_on_cluster("ray", config, Resources(), as_json=as_json) == 4
    lines = capsys.readouterr().out.splitlines()
    if as_json:
        assert [json.loads(line) for line in lines[:-1]] == [step.plain() for step in told]
    else:
        names = {step.name for step in told}
        said = "finished, success 0.50, 300 steps/s, compiled in 9 s"
        assert {f"{name}: {said}" for name in names} <= set(lines)


def test_retry_happens_once_before_any_worker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def launch(
        config: WorkerConfig, _: Resources, stop: Stop, tell: Callable[[str], None]
    ) -> list[str]:
        seen.extend(Store(config.store).run(run.config).status for run in SUITE.runs())
        return []

    finish(Store(tmp_path / "store"), "failed")
    monkeypatch.setattr(command, "launcher", lambda place: launch)
    config = WorkerConfig(suite=SUITE, store=tmp_path / "store")
    assert command.train_on_cluster("ray", config, Resources(), retry=True) == 4
    assert "failed" not in seen
    assert len(seen) == 3
