"""`clew merge`: copy one store's results into another."""

from __future__ import annotations

import dataclasses
import sys
from json import dumps

from clew.cli.output import EXIT_FAILED, console_for, say
from clew.cli.parsing import IntoPath, SourcePath
from clew.cli.registry import register
from clew.store import Store
from clew.store import merge as merge_stores
from clew.validate import BadInput

OUTCOMES = {
    "copied": "runs copied",
    "same": "runs are the same in both",
    "kept": "runs are further along in INTO than in FROM, and stay",
    "conflicts": "runs have different results in the two stores; those in INTO stay",
    "damaged": "files could not be read, and were not copied",
    "checkpoints": "packs can now go on from a later checkpoint",
    "busy": "packs are being trained; their checkpoints were left alone",
    "predictions": "registrations of predictions copied",
}


@register("merge")
def merge(source: SourcePath, into: IntoPath, /, json: bool = False) -> None:
    """Copy the runs, checkpoints and predictions of one store that another does not have.

    Ends with exit code 3 if results of one configuration differ, or if something could not be read.

    Args:
        source: The store to copy from; it is not changed.
        into: The store to copy into; made if there is none.
        json: Print one JSON object.
    """
    from clew.probes.predictions import merge_registrations

    if into.exists() and source.resolve() == into.resolve():
        raise BadInput(f"{str(source)!r} and {str(into)!r} are the same store; name two")
    theirs, ours = Store(source, read_only=True), Store(into)
    done = dataclasses.asdict(merge_stores(ours, theirs))
    done["predictions"], broken = merge_registrations(ours, theirs)
    done["damaged"] += broken
    console = console_for(json)
    if json:
        print(dumps(done))
    for name, outcome in OUTCOMES.items():
        if done[name] and not json:
            say(console, f"{len(done[name])} {outcome}")
    if not any(done.values()) and not json:
        say(console, f"there is nothing in {str(source)!r} to copy")
    for name in ("conflicts", "damaged", "busy"):
        for line in done[name]:
            say(console, f"  {line}")
    if done["conflicts"] or done["damaged"]:
        sys.exit(EXIT_FAILED)
