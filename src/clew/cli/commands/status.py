"""`clew status`: how do the runs of a store stand?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from clew.cli.arm_table import show
from clew.cli.parsing import StorePath
from clew.cli.progress import console_for, duration, in_words
from clew.cli.registry import register
from clew.store import Store, count, scan
from clew.suite.progress import UnfinishedPack, unfinished

SILENT = 60.0
"""Seconds of silence that are worth a word: it compiles, waits, or is not there any more."""


@register("status")
def status(store: StorePath = Path("results"), /, deep: bool = False, json: bool = False) -> None:
    """Count runs by status, list arms with their tail means, what is at work, and what failed.

    Args:
        store: Folder of the results.
        deep: Verify every file's checksum too.
        json: Print one JSON object.
    """
    opened = Store(store, read_only=True)
    rows = scan(opened, deep=deep)
    console, packs = console_for(json), list(unfinished(opened))
    show(console, rows, count(rows), json, packs=[_plain(each) for each in packs])
    for each in packs if not json else []:
        console.print(in_a_line(each), highlight=False, markup=False, soft_wrap=True)
    for damaged in opened.quarantined():
        console.print(f"in quarantine: {damaged}", highlight=False, markup=False)


def in_a_line(pack: UnfinishedPack) -> str:
    """Who is at work on it, and how far."""
    step, ago = pack.last.progress, time.time() - pack.last.when
    far = ", ".join(filter(None, (f"{step.period}/{step.periods} periods", in_words(step))))
    if pack.state == "died":
        return f"left by a dead worker: {step.name}: {far}; whoever comes next goes on with it"
    if pack.state == "stopped":
        return f"stopped: {step.name}: {step.period}/{step.periods} periods"
    heard = f", last heard of {duration(ago)} ago" if ago > SILENT else ""
    return f"at work: {step.name}: {far} ({pack.holder}{heard})"


def _plain(pack: UnfinishedPack) -> dict[str, Any]:
    told = {"state": pack.state, "holder": pack.holder and str(pack.holder)}
    return {**told, **pack.last.progress.plain(), "when": pack.last.when}
