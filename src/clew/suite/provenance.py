"""How a run was made: versions, commit, device."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jax

import clew

PACKAGES = ("jax", "jaxlib", "numpy", "equinox", "optax")


@cache
def provenance() -> dict[str, str | None]:
    """Of whatever this process trains."""
    device = jax.local_devices()[0]
    return {
        "clew": clew.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "device": f"{device.platform}: {device.device_kind}",
    }


def commit() -> str | None:
    """The commit of a checkout, marked if it was changed since; None for an installed package."""
    file = Path(clew.__file__)
    # an installed package may lie within a checkout of something else
    if not _git(file.parent, "ls-files", file.name):
        return None
    return _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12") or None


def _git(folder: Path, *words: str) -> str:
    """What git says; nothing if there is no git, or it fails."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
