"""Workers to be disturbed, a checkpoint after every period: here, or `clew run` as a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.store import Store
from clew.suite import Outcome, PackProgress, Stop, Suite, plan, work
from tests.suite.declared import as_toml, declared

OUTCOME = ("result.json", "curve.npz", "diagnostics.npz", "agent.npz")


def results(store: Path) -> dict[str, bytes]:
    """What must be the same to the last byte, whatever happened on the way."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted((store / "runs").glob("*/*"))
        if path.name in OUTCOME
    }


def trained(suite: Suite, root: Path, **options: Any) -> tuple[Outcome, list[PackProgress]]:
    """Packs of two, trained here until a step for which `until` is true."""
    steps: list[PackProgress] = []
    store = Store(root)
    until = options.pop("until", None)
    with Stop(**options.pop("stop", {})) as stop:

        def watch(step: PackProgress) -> None:
            steps.append(step)
            if until is not None and until(step):
                stop._reason = "the test says so"

        outcome = work(store, plan(suite, store, 2), stop, watch, checkpoint_every=0, **options)
    return outcome, steps


class Trial:
    """A suite file, and the command that trains it; what is compiled is shared (`conftest`)."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.file = folder / "tiny.toml"
        self.file.write_text(as_toml(declared(**changes)), encoding="utf-8")
        self._environment = {
            **os.environ,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        }

    def start(self, store: Path, *more: str, group: bool = False) -> subprocess.Popen[str]:
        words = ["run", str(self.file), "--store", str(store), "--pack-size", "2"]
        words += ["--checkpoint-every", "0s", *more]
        return subprocess.Popen(
            [sys.executable, "-c", "from clew.cli import main; main()", *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=group,
        )

    def run(self, store: Path, *more: str) -> subprocess.CompletedProcess[str]:
        process = self.start(store, *more)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for(ready: Callable[[], Any], process: subprocess.Popen[str], limit: float = 300) -> None:
    """Until something is there, or the process is not."""
    until = time.monotonic() + limit
    while not ready():
        assert time.monotonic() < until
        if process.poll() is not None:
            return
        time.sleep(0.002)
