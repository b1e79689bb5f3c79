"""Checkpoints of a pack: arrays only, the last two, and never another configuration's."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from clew.store import atomic
from clew.store.arrays import read_about, read_any, write_arrays
from clew.store.canonical import JsonObject, differences, digest, plain
from clew.store.documents import Header, names_in
from clew.store.errors import Damaged
from clew.store.leases import Lease, writing_under
from clew.store.quarantine import Quarantine
from clew.validate import BadInput, whole_number

KEEP = 2
ROLE = "checkpoint"
_NAME = re.compile(r"checkpoint-(\d{12})\.npz")


class Checkpoint(NamedTuple):
    """A state to go on from."""

    step: int
    """How far it had come, in the caller's unit."""
    arrays: dict[str, np.ndarray]
    config: JsonObject
    """Of the pack."""


class Checkpoints:
    """Those of one pack, in a folder of their own."""

    def __init__(self, folder: Path, config: Mapping[str, object], quarantine: Quarantine) -> None:
        self.folder, self.config, self._quarantine = folder, plain(config), quarantine
        self._header = Header(ROLE, digest(self.config))

    def save(self, step: int, arrays: Mapping[str, np.ndarray], lease: Lease | None = None) -> Path:
        """Write a checkpoint; once it is on the disk, those before the last two go."""
        whole_number("step", step, 0, 10**12 - 1)
        path = self.folder / f"checkpoint-{step:012d}.npz"
        with writing_under(lease):
            write_arrays(path, self._header, arrays, {"step": step, "config": self.config})
        self.prune()
        return path

    def prune(self, keep: int = KEEP) -> None:
        """Keep the last two, or so many."""
        for old in self.paths()[keep:]:
            _remove(old)

    def latest(self) -> Checkpoint | None:
        """The newest sound one; damaged ones go into quarantine, and the one before is taken."""
        for path in self.paths():
            try:
                return read_checkpoint(path, self.config)
            except Damaged as damage:
                self._quarantine.put(damage)
            except FileNotFoundError:
                continue
        return None

    def clear(self) -> None:
        """Remove all: the pack is done."""
        for path in self.paths():
            _remove(path)
        atomic.sweep(self.folder)
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)

    def paths(self) -> list[Path]:
        """Newest first."""
        return checkpoints_in(self.folder)


def checkpoints_in(folder: Path) -> list[Path]:
    """Those of any pack, newest first."""
    return [folder / name for name in reversed(names_in(folder)) if _NAME.fullmatch(name)]


def read_checkpoint(path: Path, config: Mapping[str, object] | None = None) -> Checkpoint:
    """Read one checkpoint, and refuse it if it is not one of `config`."""
    found = read_any(path)
    if found.header.role != ROLE:
        raise Damaged(path, f"is a {found.header.role!r} file and should be a {ROLE!r}")
    step, theirs = _about(path, found.about)
    named = _NAME.fullmatch(path.name)
    if named and int(named[1]) != step:
        raise Damaged(path, f"is the checkpoint of step {step}")
    if config is not None and found.header.of != digest(config):
        unlike = differences(theirs, plain(config))
        more = f" and {len(unlike) - 3} more" if len(unlike) > 3 else ""
        raise BadInput(
            f"{str(path)!r} is a checkpoint of another configuration "
            f"(there and here: {', '.join(unlike[:3])}{more}); it cannot be resumed from"
        )
    return Checkpoint(step, found.arrays, theirs)


def about_checkpoint(path: Path) -> tuple[int, JsonObject]:
    """Its step and its pack's configuration, as it says itself; nothing else is read."""
    return _about(path, read_about(path))


def _about(path: Path, told: object) -> tuple[int, JsonObject]:
    table = cast(JsonObject, told) if isinstance(told, dict) else {}
    step, config = table.get("step"), table.get("config")
    if type(step) is not int or not isinstance(config, dict):
        raise Damaged(path, "does not say what it is a checkpoint of")
    return step, cast(JsonObject, config)


def _remove(path: Path) -> None:
    with atomic.explain_errors(path), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
