"""Two workers on a real Ray cluster, on this machine, and what can happen to them."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clusters.things import PERIODS, RUNS, SHOWN, Command, in_the_middle, results, trained

pytest.importorskip("ray")
pytestmark = pytest.mark.clusters
TWO = ("--on", "ray", "--workers", "2", "--cpus", "1", "--checkpoint-every", "0s")


@pytest.fixture(autouse=True)
def own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers fit, however many cores there are."""
    monkeypatch.setenv("RAY_OVERRIDE_RESOURCES", '{"CPU": 2}')
    monkeypatch.setenv("RAY_ADDRESS", "local")


def test_a_killed_worker_costs_one_leg(
    tmp_path: Path, cache: Path, undisturbed: Mapping[str, bytes]
) -> None:
    command = Command(tmp_path, cache, "store", *TWO)
    process = command.until(lambda: in_the_middle(command.store))[0]
    os.kill(process, signal.SIGKILL)
    assert command.ends() == 0, command.said()
    assert "a worker died" in command.said()
    assert len(SHOWN.findall(command.said())) == RUNS
    assert results(command.store) == undisturbed
    periods = trained(command.store)
    assert len(periods) == RUNS * PERIODS
    assert periods.total() - len(periods) <= 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_stops_at_a_checkpoint_and_goes_on(
    tmp_path: Path, cache: Path, undisturbed: Mapping[str, bytes], number: signal.Signals
) -> None:
    command = Command(tmp_path, cache, "store", *TWO)
    command.until(lambda: in_the_middle(command.store))
    command.process.send_signal(number)
    assert command.ends(60) == 4, command.said()
    assert f"{number.name} was received" in command.said()
    again = Command(tmp_path, cache, "store", *TWO)
    assert again.ends() == 0, again.said()
    assert results(again.store) == undisturbed
    assert set(trained(again.store).values()) == {1}


def test_a_worker_that_fails_is_told_of(tmp_path: Path, cache: Path) -> None:
    command = Command(tmp_path, cache, "store", "--time-limit", "0s")
    assert command.ends() == 4, command.said()
    plans = tmp_path / "store" / "plans"
    for plan in plans.iterdir():
        plan.unlink()
    plans.rmdir()
    plans.touch()  # no worker can read the plan
    command = Command(tmp_path, cache, "store", *TWO)
    assert command.ends() == 5, command.said()
    assert command.said().count("a worker failed: CannotRead") == 2


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a cluster that is there before the command, and has a token of its own."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.delenv("RAY_ADDRESS")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    start = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    start += ["--num-cpus=2", f"--port={address.rpartition(':')[2]}", "--include-dashboard=false"]
    with (tmp_path / "ray.log").open("wb") as log:
        head = subprocess.Popen([*start, "--disable-usage-stats"], stdout=log, stderr=log)
    try:
        yield address
    finally:
        head.terminate()
        head.wait(60)


def test_a_cluster_that_is_there_is_used_and_stays(
    tmp_path: Path, cache: Path, undisturbed: Mapping[str, bytes], running: str
) -> None:
    command = Command(tmp_path, cache, "store", *TWO, RAY_ADDRESS=running)
    assert command.ends() == 0, command.said()
    assert results(command.store) == undisturbed
    assert len(SHOWN.findall(command.said())) == RUNS
    again = Command(tmp_path, cache, "store", *TWO, RAY_ADDRESS=running)
    assert again.ends() == 0, again.said()
    assert set(trained(command.store).values()) == {1}
