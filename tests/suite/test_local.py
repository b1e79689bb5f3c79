"""Several workers on one machine: the same bytes, whoever is killed, and nobody stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from clew.cli.training import train_here
from clew.store import Store
from clew.suite import plan
from clew.suite.launchers import WorkerConfig
from clew.suite.launchers.local import share_of_cores
from tests.suite.declared import PERIOD, tiny
from tests.suite.trial import Trial, results, wait_for

PERIODS = 40


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(1, 40))
def test_cores_are_shared_out_evenly(cores: set[int], size: int) -> None:
    ours = sorted(cores)
    shares = [share_of_cores(ours, place, size) for place in range(size)]
    assert all(shares)
    assert {core for share in shares for core in share} <= cores
    if size <= len(cores):
        assert sum(map(len, shares)) == len(cores)
    counts = [sum(core in share for share in shares) for core in ours]
    assert max(counts) - min(counts) <= 1
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(tmp_path_factory.mktemp("trial"), steps=PERIOD * PERIODS)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one undisturbed worker makes."""
    store = tmp_path_factory.mktemp("alone")
    assert (
        train_here(WorkerConfig(suite=tiny(steps=PERIOD * PERIODS), store=store, pack_size=2)) == 0
    )
    return results(store)


def workers_of(process: subprocess.Popen[Any]) -> list[int]:
    """The processes that it has started, but for the one that cleans up after them."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [pid for pid in map(int, found.split()) if b"spawn_main" in _command(pid)]


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_two_workers(trial: Trial, alone: dict[str, bytes], tmp_path: Path) -> None:
    done = trial.run(tmp_path / "store", "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    periods = [(line["name"], line["period"]) for line in told if line.get("what") == "training"]
    assert len(periods) == len(set(periods)) == 2 * PERIODS
    assert told[-1]["counts"] == {"finished": 4}
    assert results(tmp_path / "store") == alone


@pytest.mark.slow
def test_a_killed_worker_is_replaced(trial: Trial, alone: dict[str, bytes], tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = trial.start(store, "--workers", "2")
    wait_for(lambda: list(store.glob("packs/*/checkpoint-*.npz")), process)
    first = workers_of(process)
    assert len(first) == 2
    os.kill(first[0], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert results(store) == alone


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_workers_end_with_whoever_started_them(
    trial: Trial, alone: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    store = tmp_path / "store"
    process = trial.start(store, "--workers", "2")
    wait_for(lambda: list(store.glob("packs/*/checkpoint-*.npz")), process)
    workers = workers_of(process)
    process.send_signal(getattr(signal, name))
    out, _ = process.communicate(timeout=300)
    until = time.monotonic() + 300
    while any(Path(f"/proc/{pid}/stat").exists() for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert process.returncode == {"SIGTERM": 4, "SIGKILL": -9}[name]
    assert name == "SIGKILL" or "stopped early: SIGTERM was received" in out
    assert trial.run(store, "--workers", "2").returncode == 0
    assert results(store) == alone


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [False, True])
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_stop_while_workers_start_is_a_stop(
    trial: Trial, tmp_path: Path, whole_group: bool, seconds: float
) -> None:
    """Ctrl-C reaches all of them, SIGTERM the first; they have hardly begun to import anything."""
    process = trial.start(tmp_path / "store", "--workers", "2", group=True)
    wait_for(lambda: len(workers_of(process)) == 2, process)
    time.sleep(seconds)
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    assert "died" not in err
    assert "was received" in out


@pytest.mark.slow
def test_workers_that_wait_end_with_whoever_started_them(trial: Trial, tmp_path: Path) -> None:
    """They tell nobody anything, and notice nevertheless."""
    store = Store(tmp_path / "store")
    packs = plan(tiny(steps=PERIOD * PERIODS), store, 2).packs
    held = [store.claims().take(pack.folder(store).name) for pack in packs]
    assert all(held)
    process = trial.start(store.root, "--workers", "2")
    assert process.stdout is not None
    while "waiting for" not in process.stdout.readline():
        assert process.poll() is None
    workers = workers_of(process)
    assert len(workers) == 2
    process.kill()
    _, err = process.communicate(timeout=300)
    until = time.monotonic() + 300
    while any(Path(f"/proc/{pid}/stat").exists() for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert "Traceback" not in err
