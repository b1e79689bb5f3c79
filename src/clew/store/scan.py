"""How does every run of a store stand? Plain rows, quickly, changing nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.store.finding import Status, look
from clew.store.store import Store


@dataclass(frozen=True)
class Row:
    """One run."""

    name: str
    """Of its folder."""
    path: Path
    status: Status
    reason: str
    """Why it failed, diverged, is damaged or cannot be read; else empty."""
    identity: str | None
    """Hash of its configuration."""
    config: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    """Empty unless finished."""


def scan(store: Store, *, deep: bool = False) -> list[Row]:
    """Every run, by name. Only `deep` reads the arrays, so only it finds damage in them."""
    return [_row(folder, deep) for folder in store.folders()]


def count(rows: Iterable[Row]) -> dict[str, int]:
    """How many runs are in each status."""
    return dict(sorted(Counter(row.status for row in rows).items()))


def _row(folder: Path, deep: bool) -> Row:
    found = look(folder, deep=deep)
    outcome = found.outcome or {}
    return Row(
        name=folder.name,
        path=folder,
        status=found.status,
        reason=found.reason,
        identity=found.identity,
        config=dict(found.config or {}),
        result=outcome.get("result", {}) if found.status == "finished" else {},
    )
