"""A small suite, the command that trains it, and what its workers did."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.store.things import contents

RUNS, PERIODS = 3, 150
SHOWN = re.compile(r"-x1-[0-9a-f]{8}: finished, success \d\.\d\d, [\d,]+ steps/s")
MODULE = """
from clew import envs
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce

envs.register("Beside", k=2, v=2)(TinyReproduce)
"""
SUITE = f"""
modules = ["beside"]
[[block]]
environment = "Beside"
rewards = ["sparse"]
architectures = ["Memoryless"]
bonuses = ["none"]
seeds = {RUNS}
steps = {PERIODS * 512}
[settings]
envs = 8
steps = 32
chunk = 16
chunks_per_batch = 8
eval_every = 2
encoder_width = 16
encoder_hidden = 16
memory_width = 16
"""


class Command:
    """`clew run` in the background, one run a pack."""

    def __init__(self, folder: Path, cache: Path, store: str, *options: str, **env: str) -> None:
        self.store = folder / store
        suite = folder / "small.toml"
        suite.write_text(SUITE)
        (folder / "beside.py").write_text(MODULE)  # every worker must import it
        code = "from clew.cli import main; main()"
        command = [sys.executable, "-c", code, "run", str(suite), "--store", str(self.store)]
        # whatever machine a worker runs on here, it need not compile what another has
        cached = {
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        self.log = folder / f"{store}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--pack-size", "1", *options],
                env={**os.environ, **cached, **env},
                stdout=log,
                stderr=log,
            )

    def ends(self, seconds: float = 240) -> int:
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()

    def said(self) -> str:
        return self.log.read_text()

    def until(self, true: Callable[[], Any], seconds: float = 180) -> Any:
        """What `true` says, as soon as it says something."""
        end = time.monotonic() + seconds
        while not (found := true()):
            assert time.monotonic() < end, self.said()
            assert self.process.poll() is None, self.said()
            time.sleep(0.1)
        return found


def steps_of(store: Path) -> list[dict[str, Any]]:
    """Everything that workers logged, with the worker's name, in the order of time."""
    steps = [
        {**json.loads(line), "worker": path.stem}
        for path in sorted((store / "logs" / "workers").glob("*.jsonl"))
        for line in path.read_text().splitlines(keepends=True)
        if line.endswith("\n")
    ]
    return sorted(steps, key=lambda step: step["time"])


def in_the_middle(store: Path) -> list[int]:
    """Processes that are a fifth to four fifths through a run."""
    last = {step["worker"]: step for step in steps_of(store)}
    return [
        int(worker.rpartition("-")[2])
        for worker, step in last.items()
        if step["what"] == "training" and PERIODS / 5 < step["period"] < PERIODS * 4 / 5
    ]


def trained(store: Path) -> Counter[tuple[str, int]]:
    """How often each period of each run was trained."""
    steps = (step for step in steps_of(store) if step["what"] == "training")
    return Counter((step["name"], step["period"]) for step in steps)


def results(store: Path) -> Mapping[str, bytes]:
    """All that was found, without who found it and how fast."""
    kept = contents(store / "runs")
    return {name: data for name, data in kept.items() if not name.endswith("provenance.json")}
