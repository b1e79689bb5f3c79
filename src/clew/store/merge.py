"""Bring the runs and checkpoints of one store into another. Nothing is ever overwritten.

Copying a store away is merging it into an empty one.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from clew.store import atomic
from clew.store.arrays import read_any
from clew.store.canonical import canonical
from clew.store.checkpoints import Checkpoint, checkpoints_in, read_checkpoint
from clew.store.documents import Header, read_document
from clew.store.errors import CannotRead, Damaged
from clew.store.run_folder import NOTES, RunFolder, same_arrays
from clew.store.state import FAILURE, PROVENANCE, RESULT, RunState, array_path, inspect_run
from clew.store.store import Store

BROKEN = ("damaged", "unreadable")


@dataclass
class Merged:
    """What a merge did, by the names of runs and packs."""

    copied: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    """In both, with equal results (or both without any)."""
    kept: list[str] = field(default_factory=list)
    """Further along in the store that is merged into."""
    conflicts: list[str] = field(default_factory=list)
    """In both with different results, and how they differ; the first store's stays."""
    damaged: list[str] = field(default_factory=list)
    """Could not be read, and why; not copied."""
    checkpoints: list[str] = field(default_factory=list)
    """Packs that can now go on from a later checkpoint."""
    busy: list[str] = field(default_factory=list)
    """Packs whose checkpoints were not touched, because somebody is at work on them."""


def merge(into: Store, source: Store) -> Merged:
    """Copy what `source` knows and `into` does not. `source` is not changed.

    A finished run wins over one that is not, and a failed one over one that is only begun.
    """
    merged = Merged()
    for folder in source.folders():
        found = inspect_run(folder)
        if found.status in BROKEN or not found.config:
            merged.damaged.append(f"{folder.name}: {found.reason or 'has no configuration'}")
            continue
        try:
            ours = into.run(found.config)
            _merge_run(merged, ours, folder, found)
            _bring_notes(ours, folder)
        except (Damaged, CannotRead) as error:
            merged.damaged.append(f"{folder.name}: {error}")
    for folder in source.pack_folders():
        try:
            _merge_pack(merged, into, folder)
        except (Damaged, CannotRead) as error:
            merged.damaged.append(f"{folder.name}: {error}")
    return merged


def _merge_run(merged: Merged, ours: RunFolder, folder: Path, theirs: RunState) -> None:
    mine, copied = ours.find(), False
    if mine.status not in BROKEN and _rank(theirs) > _rank(mine):
        with contextlib.suppress(FileExistsError):  # somebody finished it just now
            _copy_run(ours, folder, theirs)
            copied = True
        mine = ours.find()
    if mine.status in BROKEN:
        merged.damaged.append(f"{ours.name}, in the store merged into: {mine.reason}")
    elif _rank(theirs) > _rank(mine):
        merged.damaged.append(f"{ours.name}, in the store merged into: was damaged just now")
    elif _rank(theirs) < _rank(mine):
        merged.kept.append(ours.name)
    elif copied:
        merged.copied.append(ours.name)
    elif theirs.status == "finished" and (unlike := _unlike(ours.path, mine, folder, theirs)):
        merged.conflicts.append(f"{ours.name}: {unlike}")
    else:
        merged.same.append(ours.name)


def _bring_notes(ours: RunFolder, folder: Path) -> None:
    """What was found out later, where ours is finished and lacks it; it can be made again."""
    for role in NOTES:
        with contextlib.suppress(FileNotFoundError, Damaged, CannotRead):
            theirs = read_document(folder / f"{role}.json", Header(role, ours.identity))
            if ours.note(role) is None and ours.find(deep=False).status == "finished":
                ours.write_note(role, theirs)


def _rank(found: RunState) -> int:
    ranks = {"finished": 3, "failed": 2, "diverged": 2, "begun": 1}
    return ranks.get(found.status, 0)


def _copy_run(ours: RunFolder, folder: Path, theirs: RunState) -> None:
    """Everything that belongs to the outcome, and the outcome last."""
    ours.begin()
    if theirs.outcome is None:
        if (folder / PROVENANCE).is_file():  # the code that it was begun with
            _copy(folder / PROVENANCE, ours.path / PROVENANCE, overwrite=False)
        return
    ours.retry()
    final = RESULT if theirs.status == "finished" else FAILURE
    files = theirs.outcome["files"]
    for name, digest in files.items():
        ours.put_arrays(name, _copying(array_path(folder, name, digest), digest))
    _copy(folder / PROVENANCE, ours.path / PROVENANCE)
    _copy(folder / final, ours.path / final, overwrite=False)
    if final == RESULT:
        ours.remove_others(files)


def _unlike(here: Path, mine: RunState, there: Path, theirs: RunState) -> str:
    """How two results of one configuration differ; empty if they do not."""
    assert mine.outcome is not None
    assert theirs.outcome is not None
    if canonical(mine.outcome["result"]) != canonical(theirs.outcome["result"]):
        return f"{RESULT} differs"
    others = theirs.outcome["files"]
    for name, digest in mine.outcome["files"].items():
        if digest == others.get(name, digest):
            continue  # or their agent was not kept
        one, other = array_path(here, name, digest), array_path(there, name, others[name])
        if not same_arrays(read_any(one).arrays, read_any(other).arrays):
            return f"{name} differs"
    return ""


def _merge_pack(merged: Merged, into: Store, folder: Path) -> None:
    theirs, path = _newest(merged, folder)
    if theirs is None or path is None:
        return
    runs = theirs.config.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs) or not runs:
        raise Damaged(path, "does not say of which runs it is")
    bonuses = theirs.config.get("bonuses", [])
    if not isinstance(bonuses, list) or not all(isinstance(bonus, str) for bonus in bonuses):
        raise Damaged(path, "does not say of which bonuses it is")
    pack = into.pack(runs, bonuses)
    lease = into.claims().take(pack.name)
    if lease is None:
        merged.busy.append(pack.name)
        return
    with lease:
        if pack.finished():
            return
        mine = pack.checkpoints.latest()
        if mine is None or mine.step < theirs.step:
            _copy(path, pack.checkpoints.folder / path.name)
            pack.checkpoints.prune()
            merged.checkpoints.append(pack.name)


def _newest(merged: Merged, folder: Path) -> tuple[Checkpoint | None, Path | None]:
    for path in checkpoints_in(folder):
        try:
            return read_checkpoint(path), path
        except (Damaged, CannotRead) as error:
            merged.damaged.append(f"{folder.name}: {error}")
    return None, None


def _copy(path: Path, target: Path, *, overwrite: bool = True) -> None:
    atomic.write(target, _copying(path), overwrite=overwrite)


def _copying(path: Path, digest: str = "") -> Callable[[IO[bytes]], str]:
    """What fills a file with the bytes of another, and returns the digest that this one has."""

    def fill(file: IO[bytes]) -> str:
        with open(path, "rb") as original:
            shutil.copyfileobj(original, file)
        return digest

    return fill
