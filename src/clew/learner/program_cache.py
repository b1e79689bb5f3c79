"""Compiled programs on disk: the next process that trains the same program does not compile it.

The cache is jax's own. What is added: where it lies, how large it may become, and that a damaged
entry, which jax reports and never replaces, is removed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import jax
from jax.stages import Compiled, Lowered

LARGEST = 2 * 2**30
"""Bytes; beyond this, the entries that were not used for longest are removed."""
WORTH_KEEPING = 0.5
"""Seconds of compilation."""
FOLDER = "CLEW_CACHE_DIR"
"""Environment variable: another folder than the user's cache."""
DAMAGED = "Error reading persistent compilation cache entry"


def use_program_cache() -> None:
    """Keep what is compiled from now on, unless jax was given a cache by its user.

    Where the folder cannot be written to, programs are compiled as if there were no cache.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        prune(folder)
    except (OSError, RuntimeError):  # the user may have no home
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)


def cache_folder() -> Path:
    """A folder for each kind of processor: code for one may not run on another."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(FOLDER) or Path(caches, "clew")) / f"programs-{_processor()}"


def folder_in_use() -> Path | None:
    """The same, if that is where jax keeps programs now."""
    with suppress(RuntimeError):  # no home
        folder = cache_folder()
        if jax.config.values["jax_compilation_cache_dir"] == str(folder):
            return folder
    return None


def prune(folder: Path, largest: int = LARGEST) -> None:
    """Remove the entries that were not used for longest until the rest is small enough."""
    entries = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process prunes too
            about = path.stat()
            entries.append((max(about.st_atime, about.st_mtime), about.st_size, path))
    size = sum(bytes_ for _, bytes_, _ in entries)
    for _, bytes_, path in sorted(entries):
        if size <= largest:
            break
        if path.is_file():
            path.unlink(missing_ok=True)
            size -= bytes_


def compile_program(lowered: Lowered, options: dict[str, str | bool] | None) -> Compiled:
    """Compile, or take it from the cache; a damaged entry is removed, so that the next is sound."""
    with _WATCH:
        return lowered.compile(compiler_options=options)


class _Watch:
    """Catches what jax warns of while any thread compiles.

    The list of warnings is the process's, so it is taken when the first thread begins, and given
    back when the last one ends.
    """

    def __init__(self) -> None:
        self._lock, self._threads = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._threads == 0:
                self._caught = warnings.catch_warnings(record=True)
                self._told = self._caught.__enter__()
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads > 0:
                return
            self._caught.__exit__(None, None, None)
            told = self._told
        for warning in told:
            if DAMAGED in str(warning.message):
                _remove(str(warning.message))
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )


_WATCH = _Watch()


def _remove(message: str) -> None:
    """The entries of the module that jax names: which of them it was, it does not say."""
    module = message.partition(DAMAGED)[2].split("'")[1]
    for path in Path(jax.config.values["jax_compilation_cache_dir"] or "").glob(f"{module}-*"):
        path.unlink(missing_ok=True)


def _processor() -> str:
    about = platform.machine() + platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        about += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(about.encode()).hexdigest()[:12]
