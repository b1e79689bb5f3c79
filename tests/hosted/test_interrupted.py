"""`clew run` in a process of its own: stopped by a signal to all, and read by a script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew.store import Store, scan
from tests.hosted.test_beforehand import HERE, declared
from tests.learner.conftest import SMALL, small
from tests.suite.declared import as_toml


def written(file: Path, periods: int, **options: Any) -> list[str]:
    """A suite in a file, and the words of the command that trains it."""
    block = declared(
        environment=f"{HERE}:odd",
        environment_options={"max_episode_steps": 5, "success_key": "is_success", **options},
        steps=periods * small().period,
    )
    file.write_text(as_toml({**block, "settings": SMALL}))
    return ["run", str(file), "--store", str(file.parent / "store")]


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from clew.cli import main; main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_all_processes_stops_and_the_command_goes_on(tmp_path: Path, name: str) -> None:
    """As Ctrl-C in a terminal, and as `timeout`, which send it to the environments' own too."""
    words = written(tmp_path / "mine.toml", 12, what="slow", vector="async")
    process = started(*words, "--json", "--checkpoint-every", "0s")
    assert process.stdout is not None
    told = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert [each["what"] for each in told] == ["compiling", "training", "training"]
    time.sleep(0.2)
    os.killpg(process.pid, getattr(signal, name))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    assert f"stopped early: {name} was received" in err
    counts = json.loads(out.splitlines()[-1])["counts"]
    assert counts == {"begun": 1}
    again = started(*words)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    (row,) = scan(Store(tmp_path / "store", read_only=True))
    assert row.status == "finished"


@pytest.mark.parametrize(("vector", "workers"), [("sync", 1), ("async", 2)])
def test_what_an_environment_prints_is_no_json(tmp_path: Path, vector: str, workers: int) -> None:
    words = written(tmp_path / "mine.toml", 1, what="prints", vector=vector)
    process = started(*words, "--workers", str(workers), "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    told = [json.loads(line) for line in out.splitlines()]
    assert told[-1]["counts"] == {"finished": 1}
    for said in ("I am made", "I am reset", "I step", "{so does a library}"):
        assert said in err
    if workers > 1:
        return
    process = started(*words, "--dry-run", "--json")
    out, err = process.communicate(timeout=120)
    assert json.loads(out)["total"]["finished"] == 1
    (run,) = (tmp_path / "store" / "runs").iterdir()
    film = ["--store", str(run.parents[1]), "--gif", str(tmp_path / "film.gif")]
    process = started("show", run.name, *film, "--episodes", "1", "--module", HERE, "--json")
    out, err = process.communicate(timeout=120)
    assert json.loads(out)["gif"]["lengths"], err
    assert "{so does a library}" in err
