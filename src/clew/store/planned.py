"""The runs of the suite that was trained last: for people who look in. Nothing is decided by it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from clew.store.documents import Header, read_document, write_document
from clew.store.errors import CannotRead, CannotWrite, Damaged
from clew.store.store import Store

FILE = "planned.json"
HEADER = Header("planned", "store")


class Planned(NamedTuple):
    """What a suite is to train."""

    suite: str
    runs: tuple[str, ...]
    """Names of their folders."""


def keep_planned(store: Store, suite: str, runs: Sequence[str]) -> None:
    """In the place of the suite before. A store that cannot be written goes without."""
    if _read(store) != (suite, tuple(runs)):
        with contextlib.suppress(CannotWrite):
            write_document(store.root / FILE, HEADER, {"suite": suite, "runs": list(runs)})


def not_begun(store: Store) -> Planned:
    """The runs of that suite that have no folder yet; none if it is not known."""
    there = {folder.name for folder in store.folders()}
    planned = _read(store)
    return planned._replace(runs=tuple(run for run in planned.runs if run not in there))


def _read(store: Store) -> Planned:
    with contextlib.suppress(FileNotFoundError, Damaged, CannotRead, LookupError, TypeError):
        told = read_document(store.root / FILE, HEADER)
        return Planned(str(told["suite"]), tuple(map(str, told["runs"])))
    return Planned("", ())
