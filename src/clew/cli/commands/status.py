"""`clew status`: how do the runs of a store stand?"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from clew.cli.arm_table import print_runs
from clew.cli.other_code import mixed_code
from clew.cli.output import EXIT_FAILED, console_for, say
from clew.cli.parsing import StorePath
from clew.cli.progress import duration, progress_text
from clew.cli.registry import register
from clew.store import RunState, Store, count
from clew.store.canonical import JsonObject
from clew.store.planned import not_begun
from clew.suite.progress import UnfinishedPack, scan_running, unfinished

SILENT = 60.0
"""Seconds without news after which it is said: the worker may compile, wait or be dead."""


@register("status")
def status(store: StorePath = Path("results"), /, deep: bool = False, json: bool = False) -> None:
    """Count the runs of a store by status; list arms, packs being trained, and what failed.

    Exit code: 3 if something of a run is damaged or cannot be read.

    Args:
        store: Folder of the results.
        deep: Verify the checksums of all files too.
        json: Print one JSON object.
    """
    opened = Store(store, read_only=True)
    rows = scan_running(opened, deep=deep)
    console, packs = console_for(json), list(unfinished(opened))
    notes = mixed_code(opened, rows)
    plain = [_plain(pack) for pack in packs]
    print_runs(console, rows, _counts(opened, rows), json, packs=plain, notes=notes)
    for note in notes if not json else []:
        say(console, note)
    for pack in packs if not json else []:
        say(console, pack_line(pack))
    for damaged in opened.quarantined() if not json else []:
        say(console, f"set aside: {damaged['was']} {damaged['reason']} (now {damaged['at']})")
    if wrong := [row for row in rows if row.status in ("damaged", "unreadable")]:
        if not json and any(not row.stuck for row in wrong):
            way = "The `clew run` that trained it sets it aside, and trains it again."
            say(console, f"What is damaged is in no result. {way}")
        for row in wrong if not json else []:
            if row.stuck:
                say(console, f"{row.name} is in no result and is not trained: {row.stuck}")
        sys.exit(EXIT_FAILED)


def _counts(store: Store, rows: list[RunState]) -> dict[str, int]:
    """As `clew run` counts: with what its suite has and nobody has begun."""
    absent = len(not_begun(store).runs)
    return {**count(rows), **({"absent": absent} if absent else {})}


def pack_line(pack: UnfinishedPack) -> str:
    """Who trains it, and how far it is."""
    progress, ago = pack.last.progress, time.time() - pack.last.when
    periods = f"{progress.period}/{progress.periods} periods"
    far = ", ".join(filter(None, (periods, progress_text(progress))))
    if pack.state == "died":
        return f"its worker died: {progress.name}: {far}; the next worker goes on with it"
    if pack.state == "unreadable":
        return f"its lease cannot be read: {progress.name}: {far}"
    if pack.state == "stopped":
        return f"stopped: {progress.name}: {periods}"
    news = f", no news for {duration(ago)}" if ago > SILENT else ""
    return f"training: {progress.name}: {far} ({pack.holder}{news})"


def _plain(pack: UnfinishedPack) -> JsonObject:
    holder = {"state": pack.state, "holder": pack.holder and str(pack.holder)}
    return {**holder, **pack.last.progress.plain(), "when": pack.last.when}
