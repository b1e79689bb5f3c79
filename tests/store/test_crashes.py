"""Killed before every call that changes the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_crash_point_of_every_operation(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.store.crash_points", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    kills = json.loads(done.stdout)
    assert len(kills) == 9
    assert min(kills.values()) >= 3
    assert sum(kills.values()) > 150
