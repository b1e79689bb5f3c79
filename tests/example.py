"""The package in `examples`, built and installed by pip into a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "clew-corridor"


def installed(folder: Path, package: Path = EXAMPLE) -> Path:
    """The folder that it was installed into. Needs no network: hatchling is installed here."""
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", folder, package],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder
