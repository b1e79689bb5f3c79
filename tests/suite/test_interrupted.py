"""Stopped, killed, with other workers: the same command ends with the same bytes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from clew.cli.training import train_here
from clew.suite.launchers import WorkerConfig
from tests.suite.declared import PERIOD, tiny
from tests.suite.trial import OUTCOME, Trial, results, wait_for

PERIODS = 24


def checkpointed(store: Path) -> bool:
    return any(store.glob("packs/*/checkpoint-*.npz"))


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def disturbed(trial: Trial, store: Path, name: str) -> None:
    """One worker, and what becomes of it when it is sent a signal after three periods."""
    process = trial.start(store, "--json")
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(4)]  # compiling, and three periods
    process.send_signal(getattr(signal, name.split()[0]))
    while name == "SIGINT twice" and process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
    code, out, err = ended(process)
    assert checkpointed(store)
    if name not in ("SIGINT", "SIGTERM"):
        assert code == {"SIGKILL": -9, "SIGINT twice": 130}[name]
        return
    found = lines("".join(told) + out)
    assert code == 4
    assert f"stopped early: {name} was received" in err
    assert found[0]["what"] == "compiling"
    assert found[-2]["what"] == "stopped"
    assert found[-2]["period"] < PERIODS
    assert found[-1]["counts"] == {"absent": 2, "begun": 2}


def test_stopped_and_killed(tmp_path: Path) -> None:
    trial, store = Trial(tmp_path, steps=PERIOD * PERIODS), tmp_path / "store"
    for name in ("SIGTERM", "SIGKILL"):
        disturbed(trial, store, name)
    assert not results(store)
    for folder in (store, tmp_path / "undisturbed"):
        assert (
            train_here(WorkerConfig(suite=tiny(steps=PERIOD * PERIODS), store=folder, pack_size=2))
            == 0
        )
    assert results(store) == results(tmp_path / "undisturbed")
    assert not checkpointed(store)


@pytest.mark.slow
def test_disturbed_in_every_way_and_then_with_two_workers(tmp_path: Path) -> None:
    """Asked, asked otherwise, killed, interrupted twice; then two workers bring it to its end."""
    trial, store = Trial(tmp_path, steps=PERIOD * PERIODS), tmp_path / "store"
    for name in ("SIGINT", "SIGTERM", "SIGKILL", "SIGINT twice"):
        disturbed(trial, store, name)
    assert not results(store)
    both = [ended(process) for process in [trial.start(store, "--json") for _ in range(2)]]
    assert [code for code, _, _ in both] == [0, 0]
    trained = [
        (line["name"], line["period"])
        for _, out, _ in both
        for line in lines(out)
        if line.get("what") == "training"
    ]
    assert len(trained) == len(set(trained))
    assert not checkpointed(store)
    undisturbed = WorkerConfig(
        suite=tiny(steps=PERIOD * PERIODS), store=tmp_path / "undisturbed", pack_size=2
    )
    assert train_here(undisturbed) == 0
    assert results(store) == results(tmp_path / "undisturbed")
    assert len(results(store)) == 4 * len(OUTCOME)


def periods_told(out: str) -> list[tuple[str, int]]:
    """What a process said that it had trained; its last line may be torn."""
    told = lines("\n".join(line for line in out.split("\n")[:-1]))
    return [(line["name"], line["period"]) for line in told if line.get("what") == "training"]


def killed(trial: Trial, store: Path, rng: random.Random) -> list[tuple[str, int]]:
    """Kill −9 at a random moment of training; the periods that were trained until then."""
    before = set(store.glob("packs/*/*.npz"))
    process = trial.start(store, "--json")
    wait_for(lambda: set(store.glob("packs/*/*.npz")) - before, process)
    time.sleep(rng.uniform(0, 0.4))
    process.kill()
    code, out, _ = ended(process)
    assert code == -9  # it was not done yet
    return periods_told(out)


@pytest.mark.slow
def test_killed_twenty_times(tmp_path: Path) -> None:
    """Every period is checkpointed, so each kill costs one at most: the one that was in hand."""
    periods = 300
    trial, store = Trial(tmp_path, steps=PERIOD * periods), tmp_path / "store"
    assert trial.run(tmp_path / "undisturbed").returncode == 0
    rng, trained = random.Random(20), Counter[tuple[str, int]]()
    for _ in range(20):
        trained.update(killed(trial, store, rng))
    last = trial.run(store, "--json")
    assert last.returncode == 0
    trained.update(periods_told(last.stdout))
    assert results(store) == results(tmp_path / "undisturbed")
    assert not list(store.rglob(".tmp-*"))
    # a period may be trained, and its process killed before it could say so
    assert 2 * periods - 20 <= len(trained) <= 2 * periods
    assert trained.total() - len(trained) <= 20
    assert max(trained.values()) <= 3
