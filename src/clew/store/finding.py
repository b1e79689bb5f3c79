"""Look at a run's folder and say what is there, changing nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clew.store.arrays import verify_arrays
from clew.store.canonical import digest
from clew.store.documents import read_any, read_document
from clew.store.errors import CannotRead, Damaged
from clew.store.names import run_name
from clew.store.seal import Seal
from clew.validate import BadInput

CONFIG, PROVENANCE = "config.json", "provenance.json"
CURVE, DIAGNOSTICS, AGENT = "curve.npz", "diagnostics.npz", "agent.npz"
RESULT, FAILURE = "result.json", "failure.json"

Status = Literal["absent", "begun", "finished", "failed", "diverged", "damaged", "unreadable"]


@dataclass(frozen=True)
class Finding:
    """The state of a run's folder."""

    status: Status
    reason: str = ""
    """Why it failed, diverged, is damaged or cannot be read."""
    config: Mapping[str, Any] | None = None
    identity: str | None = None
    outcome: Mapping[str, Any] | None = None
    """What result.json or failure.json says."""
    damage: tuple[Damaged, ...] = ()


def look(folder: Path, identity: str | None = None, *, deep: bool = True) -> Finding:
    """Examine every file, or (not `deep`) only the documents that say how the run stands.

    Without `identity` the folder's own configuration says which run it should be. Damage is what
    is seen twice: once may be a moment of somebody else's work.
    """
    found = _look(folder, identity, deep)
    return _look(folder, identity, deep) if found.damage else found


def _look(folder: Path, identity: str | None, deep: bool) -> Finding:
    try:
        return _examine(folder, set(os.listdir(folder)), identity, deep)
    except FileNotFoundError:
        return Finding("absent", identity=identity)
    except NotADirectoryError:
        damage = Damaged(folder, "is a file and should be a folder")
        return Finding("damaged", damage.reason, identity=identity, damage=(damage,))
    except (CannotRead, OSError) as error:
        return Finding("unreadable", str(error), identity=identity)


def _examine(folder: Path, names: set[str], identity: str | None, deep: bool) -> Finding:
    final = RESULT if RESULT in names else FAILURE if FAILURE in names else None
    if CONFIG not in names and final is None:
        return Finding("begun", identity=identity)
    damage: list[Damaged] = []
    config = None
    try:
        config, found = _config(folder, identity)
        identity = identity or found
    except Damaged as error:
        damage.append(error)
    if identity is None:
        # nothing else can be judged without knowing whose it should be
        return Finding("damaged", _say(damage), damage=tuple(damage))
    outcome = None
    if final is not None:
        try:
            outcome = read_document(folder / final, Seal(Path(final).stem, identity))
        except FileNotFoundError:
            damage.append(Damaged(folder / final, "is missing"))
        except Damaged as error:
            damage.append(error)
        else:
            damage += _rest(folder, names, identity, outcome["files"], deep)
    if damage:
        return Finding("damaged", _say(damage), config, identity, outcome, tuple(damage))
    if outcome is None:
        return Finding("begun", "", config, identity)
    return Finding(outcome["status"], outcome.get("reason", ""), config, identity, outcome)


def _config(folder: Path, identity: str | None) -> tuple[Any, str]:
    path = folder / CONFIG
    try:
        seal, config = read_any(path)
    except FileNotFoundError:
        raise Damaged(path, "is missing") from None
    Seal("config", digest(config)).expect(path, seal)
    if folder.name != (name := run_name(config, seal.of)):
        raise Damaged(path, f"is the configuration of {name}")
    if identity not in (None, seal.of):
        raise BadInput(
            f"two configurations share the name {folder.name!r}, hashes {seal.of} and {identity}; "
            f"give one of them a store of its own"
        )
    return config, seal.of


def _rest(
    folder: Path, names: set[str], identity: str, files: Mapping[str, str], deep: bool
) -> list[Damaged]:
    """What is wrong with the files that should stand beside the outcome."""
    damage = []
    for name in (PROVENANCE, *files):
        path = folder / name
        try:
            if name not in names:
                raise Damaged(path, "is missing")
            if deep and name == PROVENANCE:
                read_document(path, Seal("provenance", identity))
            elif deep and verify_arrays(path, Seal(Path(name).stem, identity)) != files[name]:
                raise Damaged(path, "is sound, but not the file that the outcome was written with")
        except FileNotFoundError:
            damage.append(Damaged(path, "is missing"))
        except Damaged as error:
            damage.append(error)
    return damage


def _say(damage: list[Damaged]) -> str:
    return "; ".join(f"{each.path.name} {each.reason}" for each in damage)
