"""An array of two workers on a real SLURM, and what a scheduler or a person can do to them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clusters.slurm import cluster, missing
from tests.clusters.things import PERIODS, RUNS, SHOWN, Command, in_the_middle, results, trained

pytest.importorskip("submitit")
pytestmark = [pytest.mark.clusters, pytest.mark.skipif(bool(missing()), reason=missing())]
TWO = ("--on", "slurm", "--workers", "2", "--cpus", "1", "--job-time", "10m")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def ask(environment: dict[str, str], *command: str) -> str:
    inherited = {**os.environ, **environment}
    return subprocess.run(
        command, env=inherited, capture_output=True, text=True, check=True
    ).stdout.strip()


def jobs(environment: dict[str, str]) -> list[str]:
    states = ask(environment, "squeue", "--noheader", "--array", "--format=%i %T").splitlines()
    return [line.split()[0] for line in states if line.endswith("RUNNING")]


@pytest.mark.parametrize(
    "disturb",
    [
        ("scontrol", "requeue"),  # as preemption does: SIGTERM, and back into the queue
        ("scancel", "--signal=USR1"),  # as the end of a job's time does
        ("scancel", "--signal=TERM"),  # as preemption with a time of grace does
    ],
    ids=" ".join,
)
def test_a_preempted_job_writes_a_checkpoint_and_is_queued_again(
    tmp_path: Path,
    cache: Path,
    undisturbed: Mapping[str, bytes],
    slurm: dict[str, str],
    disturb: tuple[str, ...],
) -> None:
    command = Command(tmp_path, cache, "store", *TWO, **slurm)
    command.until(lambda: in_the_middle(command.store))
    job = jobs(slurm)[0]
    ask(slurm, *disturb, job)
    restarts = ("scontrol", "show", "job", job)
    command.until(lambda: "Restarts=1" in ask(slurm, *restarts))
    assert command.ends() == 0, command.said()
    assert len(SHOWN.findall(command.said())) == RUNS
    assert results(command.store) == undisturbed
    periods = trained(command.store)
    assert len(periods) == RUNS * PERIODS
    assert set(periods.values()) == {1}


def test_a_cancelled_job_stays_cancelled(
    tmp_path: Path, cache: Path, undisturbed: Mapping[str, bytes], slurm: dict[str, str]
) -> None:
    command = Command(tmp_path, cache, "store", *TWO, **slurm)
    command.until(lambda: in_the_middle(command.store))
    ask(slurm, "scancel", *jobs(slurm))
    assert command.ends(120) == 5, command.said()
    assert command.said().count("was cancelled or killed") == 2
    assert jobs(slurm) == []
    again = Command(tmp_path, cache, "store")
    assert again.ends() == 0, again.said()
    assert results(again.store) == undisturbed
    assert len(trained(again.store)) < RUNS * PERIODS  # the rest was trained here


def test_a_worker_that_fails_is_told_of(tmp_path: Path, cache: Path, slurm: dict[str, str]) -> None:
    plans = tmp_path / "store" / "plans"
    command = Command(tmp_path, cache, "store", "--time-limit", "0s")
    assert command.ends() == 4, command.said()
    for plan in plans.iterdir():
        plan.unlink()
    plans.rmdir()
    plans.touch()  # no worker can read the plan
    command = Command(tmp_path, cache, "store", *TWO, **slurm)
    assert command.ends() == 5, command.said()
    assert command.said().count("CannotRead") == 2


def test_what_slurm_refuses_is_a_mistake(
    tmp_path: Path, cache: Path, slurm: dict[str, str]
) -> None:
    command = Command(tmp_path, cache, "store", *TWO, "--partition", "nowhere", **slurm)
    assert command.ends() == 2, command.said()
    assert "SLURM did not take the job" in command.said()
    assert "invalid partition" in command.said()
    assert "Traceback" not in command.said()
