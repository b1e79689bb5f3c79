"""How runs stand: look at their folders and say what is there, quickly, changing nothing."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clew.store.arrays import verify_arrays
from clew.store.canonical import JsonObject, digest
from clew.store.columns import SCHEMA
from clew.store.documents import Header, read_any, read_document
from clew.store.errors import CannotRead, Damaged, FromTheFuture
from clew.store.names import HASH, run_name
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.store.store import Store

CONFIG, PROVENANCE = "config.json", "provenance.json"
CURVE, DIAGNOSTICS, AGENT = "curve.npz", "diagnostics.npz", "agent.npz"
RESULT, FAILURE = "result.json", "failure.json"
ARRAYS = re.compile(rf"(curve|diagnostics|agent)(-[0-9a-f]{{{HASH}}})?\.npz")
"""Names of array files; see `own_name`."""
_DIGEST = re.compile(r"[0-9a-f]{64}")

Status = Literal[
    "absent", "begun", "running", "finished", "failed", "diverged", "damaged", "unreadable"
]
"""running: begun, and a worker has it; only `clew.suite.progress.scan_running` knows."""
ENDED: tuple[Status, ...] = ("finished", "failed", "diverged")
"""Of runs that nobody trains on, unless they are retried."""
LEFT_ALONE: tuple[Status, ...] = (*ENDED, "damaged", "unreadable")
"""Of runs that nobody trains: ended, or, after `RunFolder.find`, with files that stay (`stuck`)."""


@dataclasses.dataclass(frozen=True)
class RunState:
    """What a run's folder holds."""

    path: Path
    """The folder."""
    status: Status
    reason: str = ""
    """Why it failed, diverged, is damaged or cannot be read; else empty."""
    config: JsonObject = dataclasses.field(default_factory=dict)
    """Empty if it is not known."""
    identity: str | None = None
    """Hash of the configuration."""
    outcome: JsonObject | None = None
    """What result.json or failure.json says."""
    damage: tuple[Damaged, ...] = ()
    schema: int = SCHEMA
    """The version of `SCHEMA` that the outcome was written with."""

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.path.name

    @property
    def stuck(self) -> str:
        """If its files stay where they are and nothing can be written beside them: what to do."""
        away = f"move {str(self.path)!r} away"
        if self.status == "unreadable":
            return f"{self.reason}; make it readable, or {away}"
        if any(isinstance(each, FromTheFuture) for each in self.damage):
            return f"{self.reason}; use that version, or {away}"
        return ""

    @property
    def result(self) -> JsonObject:
        """What a finished run came to; empty unless it is finished."""
        return self.outcome["result"] if self.outcome and self.status == "finished" else {}


def array_path(folder: Path, name: str, digest: str) -> Path:
    """Where the array file lies that an outcome was written with, if it lies anywhere."""
    own = folder / own_name(name, digest)
    return own if own.exists() else folder / name


def own_name(name: str, digest: str) -> str:
    """What an array file is called whose name another training's had: `curve-1f2e3d4c.npz`."""
    path = Path(name)
    return f"{path.stem}-{digest[:HASH]}{path.suffix}"


def scan(store: Store, *, deep: bool = False) -> list[RunState]:
    """Every run, by name. Only `deep` reads the arrays, so only it finds damage in them."""
    return [inspect_run(folder, deep=deep) for folder in store.folders()]


def count(runs: Iterable[RunState]) -> dict[str, int]:
    """How many runs are in each status."""
    return dict(sorted(Counter(run.status for run in runs).items()))


def inspect_run(folder: Path, identity: str | None = None, *, deep: bool = True) -> RunState:
    """Examine every file, or (not `deep`) only the documents that say how the run stands.

    Without `identity` the folder's own configuration says which run it should be. Damage is
    reported only if two looks find it: the first may have met another process in the middle of
    its work.
    """
    found = _inspect(folder, identity, deep)
    return _inspect(folder, identity, deep) if found.damage else found


def _inspect(folder: Path, identity: str | None, deep: bool) -> RunState:
    try:
        return _examine(folder, set(os.listdir(folder)), identity, deep)
    except FileNotFoundError:
        return RunState(folder, "absent", identity=identity)
    except NotADirectoryError:
        damage = Damaged(folder, "is a file and should be a folder")
        return RunState(folder, "damaged", damage.reason, identity=identity, damage=(damage,))
    except (CannotRead, OSError) as error:
        return RunState(folder, "unreadable", str(error), identity=identity)


def _examine(folder: Path, names: set[str], identity: str | None, deep: bool) -> RunState:
    final = RESULT if RESULT in names else FAILURE if FAILURE in names else None
    if CONFIG not in names and final is None:
        return RunState(folder, "begun", identity=identity)
    damage: list[Damaged] = []
    config: JsonObject = {}
    try:
        config, own = _config(folder, identity)
        identity = identity or own
    except Damaged as error:
        damage.append(error)
    if identity is None:
        # nothing else can be judged without knowing which run it should be
        return RunState(folder, "damaged", _say(damage), damage=tuple(damage))
    outcome, schema = None, SCHEMA
    if final is not None:
        try:
            header, found = read_any(folder / final)
            Header(Path(final).stem, identity).expect(folder / final, header)
            outcome, schema = _checked(folder / final, found), header.schema
        except FileNotFoundError:
            damage.append(Damaged(folder / final, "is missing"))
        except Damaged as error:
            damage.append(error)
        else:
            damage += _rest(folder, names, identity, outcome["files"], deep)
    if damage:
        return RunState(folder, "damaged", _say(damage), config, identity, outcome, tuple(damage))
    if outcome is None:
        return RunState(folder, "begun", "", config, identity)
    reason = outcome.get("reason", "")
    return RunState(folder, outcome["status"], reason, config, identity, outcome, schema=schema)


def _config(folder: Path, identity: str | None) -> tuple[JsonObject, str]:
    path = folder / CONFIG
    try:
        header, config = read_any(path)
    except FileNotFoundError:
        raise Damaged(path, "is missing") from None
    if not isinstance(config, dict):
        raise Damaged(path, "is not a configuration")
    try:
        Header("config", digest(config)).expect(path, header)
    except BadInput as error:
        raise Damaged(path, f"is not a configuration ({error})") from None
    if folder.name != (name := run_name(config, header.of)):
        raise Damaged(path, f"is the configuration of {name}")
    if identity not in (None, header.of):
        raise BadInput(
            f"two configurations share the name {folder.name!r}, hashes {header.of} and "
            f"{identity}; give one of them a store of its own"
        )
    return config, header.of


def _checked(path: Path, outcome: object) -> JsonObject:
    """What result.json or failure.json says, if it has what everybody relies on."""
    if isinstance(outcome, dict):
        files, finished = outcome.get("files"), path.name == RESULT
        status = outcome.get("status")
        if (
            isinstance(files, dict)
            and set(files) <= {CURVE, DIAGNOSTICS, AGENT}
            and all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in files.values())
            and (not finished or {CURVE, DIAGNOSTICS} <= set(files))
            and status in (("finished",) if finished else ("failed", "diverged"))
            and isinstance(
                outcome.get("result" if finished else "reason"), dict if finished else str
            )
        ):
            return outcome
    raise Damaged(path, "does not say how the run ended, and with which files")


def _rest(
    folder: Path, names: set[str], identity: str, files: Mapping[str, str], deep: bool
) -> list[Damaged]:
    """What is wrong with the files that should stand beside the outcome."""
    damage = []
    for name in (PROVENANCE, *files):
        own = own_name(name, files.get(name, ""))
        path = folder / (own if own in names else name)
        try:
            if path.name not in names:
                raise Damaged(path, "is missing")
            if deep and name == PROVENANCE:
                read_document(path, Header("provenance", identity))
            elif deep and verify_arrays(path, Header(Path(name).stem, identity)) != files[name]:
                raise Damaged(path, "is sound, but not the file that the outcome was written with")
        except FileNotFoundError:
            damage.append(Damaged(path, "is missing"))
        except Damaged as error:
            damage.append(error)
    return damage


def _say(damage: list[Damaged]) -> str:
    return "; ".join(f"{found.path.name} {found.reason}" for found in damage)
