"""`clew status` and `clew report` agree on what is running: what a live worker has."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from clew.store import Store
from tests.cli.called import called
from tests.cli.conftest import SMALL, WORLD, suite
from tests.suite.declared import as_toml

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


def test_what_nobody_has_begun_is_counted_alike(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(trained, folder)
    assert "absent" not in called("status", str(folder)).out
    assert "absent" not in called("report", str(folder)).out
    (block,) = suite().blocks
    file = tmp_path / "wider.toml"
    words = ("run", str(file), "--store", str(folder), "--time-limit", "0s")
    plain = {**WORLD, "rewards": ["dense"], "architectures": ["Memoryless"], "seeds": 4}
    plain |= {"bonuses": ["none", "e3b"], "steps": 5120, "knobs": dict(block.knobs)}
    file.write_text(as_toml({"settings": SMALL, "block": [plain]}))
    done = called(*words)
    assert done.code == 4, done
    counts = {
        name: int(n) for n, name in re.findall(r"(\d+) (finished|unfinished|absent)", done.out)
    }
    assert counts["finished"] == 4
    assert sum(counts.values()) == 8
    told = called("status", str(folder)).out
    assert all(f"{n} {name}" in told for name, n in counts.items())
    said = f"Of the suite wider, {counts['absent']} runs are absent: nobody has begun with them."
    assert said in called("report", str(folder)).out
    (folder / "planned.json").write_text("spoilt")
    assert "absent" not in called("status", str(folder)).out
