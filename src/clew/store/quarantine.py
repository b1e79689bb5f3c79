"""Quarantine: damaged files are moved to `set-aside/` with the reason, never read, never lost."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from clew.store import atomic
from clew.store.canonical import JsonObject
from clew.store.documents import Header, names_in, read_document, write_document
from clew.store.errors import CannotRead, CannotWrite, Damaged, FromTheFuture, stamp
from clew.store.names import WHOLE, slug

FOLDER, REASON = "set-aside", "reason.json"
_HEADER = Header(FOLDER, "store")
_LOG = logging.getLogger("clew.store")


class Incident(NamedTuple):
    """A file that was found damaged."""

    path: str
    """Where it was, from the store's root."""
    reason: str
    moved_to: str | None
    """Where it is now; None if it could not be moved (a read-only store)."""


class Quarantine:
    """A store's damaged files, those found by this process and those found before."""

    def __init__(self, root: Path, *, read_only: bool) -> None:
        self._root, self.read_only = root, read_only
        self.incidents: list[Incident] = []
        """What this process found, in order."""

    def put(self, damage: Damaged) -> Incident:
        """Report a damaged file, and move it out of the way if we may."""
        was = os.path.relpath(damage.path, self._root)
        stays = self.read_only or isinstance(damage, FromTheFuture)
        moved = None if stays else self._move(damage, was)
        incident = Incident(was, damage.reason, moved)
        if incident not in self.incidents:
            _LOG.warning("%s %s%s", was, damage.reason, f"; now {moved}" if moved else "")
            self.incidents.append(incident)
        return incident

    def listed(self) -> list[JsonObject]:
        """Everything that was ever put here: what it was, why, when, and where it lies."""
        found = []
        for name in names_in(self._root / FOLDER):
            with contextlib.suppress(FileNotFoundError, Damaged, CannotRead):
                about = read_document(self._root / FOLDER / name / REASON, _HEADER)
                if isinstance(about, dict):
                    found.append({**about, "at": f"{FOLDER}/{name}"})
        return found

    def _move(self, damage: Damaged, was: str) -> str | None:
        path = damage.path
        place = self._root / FOLDER / f"{slug(path.parent.name, WHOLE)}-{secrets.token_hex(4)}"
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        about = {"was": was, "reason": damage.reason, "when": now}
        if damage.stamp is None or stamp(path) != damage.stamp:
            return None  # it is missing, or somebody else has moved or mended it
        try:
            write_document(place / REASON, _HEADER, about)
            atomic.move(path, place / path.name)
        except CannotWrite as error:
            _LOG.warning("%s", error)
            return _take_back(place)
        if stamp(place / path.name) != damage.stamp:
            # mended between our look and our move: put it back, unless there is yet another
            with contextlib.suppress(OSError):
                atomic.publish_new(place / path.name, path)
                return _take_back(place)
        return str((place / path.name).relative_to(self._root))


def _take_back(place: Path) -> None:
    """Remove an entry whose file was not moved after all."""
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            os.unlink(place / name)
        os.rmdir(place)
