"""`clew status` and `clew report` agree on what is running: what a live worker has."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from clew.store import Store
from tests.cli.called import called
from tests.cli.conftest import suite

WORKER = """
import sys
from clew.store import Store
from clew.suite import PackProgress
from clew.suite.progress import publishing
with Store(sys.argv[1]).claims().take("pack-00000000") as lease:
    publishing(lease, print, sys.argv[2:])(PackProgress("pack-00000000", "training", 3, 6))
    sys.stdin.read()
"""


def told(store: Path) -> dict[str, int]:
    """Runs by status, as both commands count them."""
    counts = json.loads(called("status", str(store), "--json").out)["counts"]
    gaps = json.loads(called("report", str(store), "--json").out)["gaps"]
    left_out = Counter(run["status"] for run in gaps["runs"])
    counts["unfinished"] = counts.pop("begun", 0)
    assert +Counter(counts) == left_out + Counter(finished=gaps["finished"])
    spoken = called("status", str(store)).out
    assert all(f"{n} {status}" in spoken for status, n in counts.items() if n)
    return counts


def test_status_and_report_agree(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(trained, folder)
    (block,) = suite().blocks
    wider = dataclasses.replace(suite(), blocks=[dataclasses.replace(block, seeds=4)])
    runs = [Store(folder).run(run.config) for run in wider.runs()]
    begun = [run for run in runs if not run.finished()]
    for run in begun:
        run.begin()
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), *(run.name for run in begun[:3])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline()
    assert told(folder) == {"finished": 4, "running": 3, "unfinished": 1}
    worker.kill()
    worker.communicate()
    assert told(folder) == {"finished": 4, "unfinished": 4}
