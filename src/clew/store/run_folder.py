"""A run's folder: its configuration, how it was made, and, written last, what came of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import IO, Literal

import numpy as np

from clew.store import atomic
from clew.store.arrays import Arrays, filling, read_arrays, verify_arrays
from clew.store.canonical import JsonObject, canonical, digest, plain
from clew.store.documents import Header, names_in, read_document, write_document
from clew.store.errors import CannotRead, CannotWrite, Conflict, Damaged
from clew.store.leases import Lease, writing_under
from clew.store.names import run_name
from clew.store.quarantine import Quarantine
from clew.store.state import (
    AGENT,
    ARRAYS,
    CONFIG,
    CURVE,
    DIAGNOSTICS,
    FAILURE,
    PROVENANCE,
    RESULT,
    RunState,
    Status,
    array_path,
    inspect_run,
    own_name,
)
from clew.validate import BadInput, one_of

NOTES = ("probe",)
"""What may stand beside a run's own files; it is no part of the outcome, and can be made again."""


class RunFolder:
    """One run of a store. Made by `Store.run`; nothing is written before something is known."""

    def __init__(self, runs: Path, config: Mapping[str, object], quarantine: Quarantine) -> None:
        self.config: JsonObject = plain(config)
        self.identity = digest(self.config)
        self.name = run_name(self.config, self.identity)
        self.path = runs / self.name
        self._quarantine = quarantine

    def find(self, *, deep: bool = True) -> RunState:
        """How the run stands. Damaged files go into quarantine, and it counts as begun."""
        found = inspect_run(self.path, self.identity, deep=deep)
        if not found.damage:
            return found
        self._mend(found)
        return inspect_run(self.path, self.identity, deep=deep)

    @property
    def status(self) -> Status:
        """In one word."""
        return self.find().status

    def finished(self) -> bool:
        """Whether there is a result, and every file of the run is sound."""
        return self.status == "finished"

    def result(self) -> JsonObject:
        """The result of a finished run."""
        return self._outcome(RESULT)["result"]

    def failure(self) -> JsonObject:
        """Status, reason and files of a run that failed or diverged."""
        return self._outcome(FAILURE)

    def provenance(self) -> JsonObject:
        """How the run was made."""
        found: JsonObject = read_document(self.path / PROVENANCE, self._header(PROVENANCE))
        if type(found) is not dict:
            raise Damaged(self.path / PROVENANCE, "does not say how the run was made")
        return found

    def curve(self, names: Container[str] | None = None) -> dict[str, np.ndarray]:
        """What the evaluations recorded: every column, or those of `names`."""
        return self._read(CURVE, names)

    def diagnostics(self, names: Container[str] | None = None) -> dict[str, np.ndarray]:
        """What the rollouts recorded: every column, or those of `names`."""
        return self._read(DIAGNOSTICS, names)

    def agent(self) -> dict[str, np.ndarray] | None:
        """The trained actor's weights, if they were kept."""
        try:
            return self._read(AGENT)
        except FileNotFoundError:
            return None

    def note(self, role: str) -> JsonObject | None:
        """What was found out about the run later, if it is there and sound: `role`.json."""
        try:
            return read_document(self.path / f"{role}.json", Header(role, self.identity))
        except FileNotFoundError:
            return None
        except Damaged as damage:
            self._quarantine.put(damage)
            return None

    def write_note(self, role: str, data: object) -> None:
        """Put something beside the run's own files, in place of what was there."""
        one_of("role", role, NOTES)
        write_document(self.path / f"{role}.json", Header(role, self.identity), data)

    def begin(self) -> None:
        """Write the configuration, so that the run shows in the store."""
        if not (self.path / CONFIG).exists():
            write_document(self.path / CONFIG, self._header(CONFIG), self.config)

    def write_provenance(self, provenance: Mapping[str, object]) -> None:
        """Say how a run that is begun is made; what comes with its outcome replaces it."""
        write_document(self.path / PROVENANCE, self._header(PROVENANCE), provenance)

    def write_finished(
        self,
        result: Mapping[str, object],
        *,
        curve: Arrays,
        diagnostics: Arrays,
        provenance: Mapping[str, object],
        agent: Arrays | None = None,
        lease: Lease | None = None,
    ) -> None:
        """Store everything, the result last. The same again is a no-op, another a `Conflict`.

        What may differ between two trainings of one configuration (times, machines) belongs in
        the provenance.
        """
        arrays = {CURVE: curve, DIAGNOSTICS: diagnostics}
        if agent is not None:
            arrays[AGENT] = agent
        outcome = {"status": "finished", "result": plain(result, "result")}
        self._write(RESULT, outcome, arrays, provenance, lease)

    def write_failed(
        self,
        reason: str,
        *,
        status: Literal["failed", "diverged"] = "failed",
        provenance: Mapping[str, object],
        curve: Arrays | None = None,
        diagnostics: Arrays | None = None,
        lease: Lease | None = None,
    ) -> None:
        """Record that a run failed or diverged, and why; with its arrays, if it has any."""
        given = {CURVE: curve, DIAGNOSTICS: diagnostics}
        arrays = {name: value for name, value in given.items() if value is not None}
        self._write(FAILURE, {"status": status, "reason": reason}, arrays, provenance, lease)

    def put_arrays(self, name: str, fill: Callable[[IO[bytes]], str]) -> str:
        """Write a file of arrays beside what others wrote, and return the digest that `fill` does.

        Who writes the same run at the same time may be about to name a file in its outcome, so
        none is ever overwritten with other arrays: those have their digest in the name.
        """
        path, made = self.path / name, ""

        def filled(file: IO[bytes]) -> None:
            nonlocal made
            made = fill(file)

        try:
            atomic.write(path, filled, overwrite=False)
        except FileExistsError:
            with contextlib.suppress(Damaged, CannotRead, FileNotFoundError):
                if verify_arrays(path, self._header(name)) == made:
                    return made
            atomic.write(self.path / own_name(name, made), fill)
        return made

    def remove_others(self, files: Mapping[str, str]) -> None:
        """Remove arrays that are not of the result, once it is there: nobody will name them."""
        ours = {array_path(self.path, name, digest).name for name, digest in files.items()}
        for name in set(names_in(self.path)) - ours:
            if ARRAYS.fullmatch(name):
                with contextlib.suppress(OSError):
                    os.unlink(self.path / name)

    def retry(self) -> None:
        """Make a failed run one that is only begun; the old record stays, under a number."""
        with contextlib.suppress(FileNotFoundError):
            taken = {name for name in os.listdir(self.path) if name.startswith("failure-")}
            fresh = next(n for n in range(1, len(taken) + 2) if f"failure-{n}.json" not in taken)
            if (self.path / FAILURE).exists():
                atomic.move(self.path / FAILURE, self.path / f"failure-{fresh}.json")

    def _write(
        self,
        final: str,
        outcome: JsonObject,
        arrays: Mapping[str, Arrays],
        provenance: Mapping[str, object],
        lease: Lease | None,
    ) -> None:
        with writing_under(lease):
            found = self.find()
            if found.status in ("damaged", "unreadable"):
                raise BadInput(f"{self.name} cannot be written: {found.reason}")
            if final == RESULT and found.status in ("failed", "diverged"):
                self.retry()
            elif found.status not in ("absent", "begun"):
                self._agree(found, final, outcome, arrays)
                return
            self.begin()
            files = {
                name: self.put_arrays(name, filling(self._header(name), value))
                for name, value in arrays.items()
            }
            if lease is not None:
                lease.confirm()
            self.write_provenance(provenance)
            whole = {**outcome, "files": files}
            try:
                write_document(self.path / final, self._header(final), whole, overwrite=False)
            except FileExistsError:  # somebody was quicker, if theirs is sound
                self._write(final, outcome, arrays, provenance, lease)
            else:
                if final == RESULT:
                    self.remove_others(files)

    def _agree(
        self, found: RunState, final: str, outcome: JsonObject, arrays: Mapping[str, Arrays]
    ) -> None:
        """Raise `Conflict` unless what is stored is what was to be stored."""
        if final == FAILURE and found.status in ("failed", "diverged"):
            return
        stored, what = dict(found.outcome or {}), "outcome"
        files = stored.pop("files", {})
        if canonical(stored) == canonical(outcome):
            both = (n for n in arrays if n in files)
            what = next((n for n in both if not self._same(n, files[n], arrays[n])), "")
        if found.status == "finished":
            self.remove_others(files)
        if what:
            raise Conflict(f"{self.name} is already {found.status}, with a different {what}")

    def _same(self, name: str, digest: str, arrays: Arrays) -> bool:
        path = array_path(self.path, name, digest)
        return same_arrays(read_arrays(path, self._header(name)), arrays)

    def _read(self, name: str, names: Container[str] | None = None) -> dict[str, np.ndarray]:
        """From the file that the outcome was written with, or whatever there is without one."""
        found = inspect_run(self.path, self.identity, deep=False).outcome
        digest = found["files"].get(name, "") if found else ""
        return read_arrays(array_path(self.path, name, digest), self._header(name), names)

    def _outcome(self, final: str) -> JsonObject:
        return read_document(self.path / final, self._header(final))

    def _header(self, name: str) -> Header:
        """A file's role is its name."""
        return Header(Path(name).stem, self.identity)

    def _mend(self, found: RunState) -> None:
        damaged = {damage.path.name for damage in found.damage}
        final = RESULT if (self.path / RESULT).exists() else FAILURE
        for damage in found.damage:
            self._quarantine.put(damage)
        if damaged - {CONFIG, final} and final not in damaged and found.outcome is not None:
            # last: until then, whoever looks finds a result with something missing, and comes here
            why = f"belongs to files that are damaged or missing: {found.reason}"
            self._quarantine.put(Damaged(self.path / final, why))
        if CONFIG in damaged and not self._quarantine.read_only:
            with contextlib.suppress(CannotWrite):
                self.begin()


def same_arrays(one: Arrays, other: Arrays) -> bool:
    """Equal to the last bit, whatever files they come from."""
    if one.keys() != other.keys():
        return False
    pairs = [(np.asarray(one[name]), np.asarray(other[name])) for name in one]
    return all(
        (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes() for a, b in pairs
    )
