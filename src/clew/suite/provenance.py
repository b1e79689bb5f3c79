"""How a run was made: versions, commit, device, and who brought what is not Clew's own."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jax

import clew
from clew.store import RunFolder
from clew.store.code import continued, known_provenance
from clew.suite.schema import KINDS, REGISTRIES
from clew.suite.spec import RunSpec

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
        "processor": processor(),
    }


def processor() -> str:
    """Its model: others may have other vector instructions, which round otherwise."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def origins(run: RunSpec) -> dict[str, str]:
    """By kind, the package and version that its world, memory or bonus came from, or the module
    and a hash of its file; nothing of what is Clew's own. See `clew.store.code`."""
    named = ((kind, getattr(run, kind)) for kind in KINDS)
    entries = {kind: REGISTRIES[kind][n] for kind, n in named if n in REGISTRIES[kind].names()}
    found = {
        kind: entry.package or _hashed([entry.origin])
        for kind, entry in entries.items()
        if entry.origin
    }
    if modules := getattr(run.env, "modules", ()):
        found["environment"] = _hashed(modules)
    return found


def begin(run: RunFolder, now: Mapping[str, str], *, resumed: bool) -> dict[str, str]:
    """Show the run in the store, with the code that it is trained with; that code.

    If the run is resumed, what it was trained with before stands first.
    """
    run.begin()
    if not now or run.status != "begun":
        return dict(now)
    before = known_provenance(run).get("from") if resumed else None
    told = before if isinstance(before, dict) else {}
    made = {kind: continued(told.get(kind), text) for kind, text in now.items()}
    if made != before:
        run.write_provenance({"from": made})
    return made


def _hashed(modules: Iterable[str]) -> str:
    return ", ".join(f"{module} (sha256 {_file_hash(module)})" for module in modules)


@cache
def _file_hash(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return hashlib.sha256(Path(str(file)).read_bytes()).hexdigest()[:12]
    except OSError:
        return "unknown"


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
