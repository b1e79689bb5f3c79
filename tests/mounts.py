"""A small disk for a test: mounted in a namespace of its own, gone when the process is."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def on_a_small_disk(size: str, disk: Path, module: str, *words: str) -> Any:
    """Run a module of the tests beside a tmpfs at `disk`; what its last line says."""
    mount = f"mount -t tmpfs -o size={size} tmpfs '{disk}'"
    try:
        able = subprocess.run(_apart(mount), capture_output=True, check=False).returncode == 0
    except OSError:
        able = False
    if not able:
        pytest.skip("no file system can be mounted here")
    told = " ".join(f"'{word}'" for word in words)
    script = f"{mount} && exec '{sys.executable}' -m {module} {told}"
    done = subprocess.run(_apart(script), capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.splitlines()[-1])


def _apart(script: str) -> list[str]:
    return ["unshare", "-rm", "sh", "-c", script]
