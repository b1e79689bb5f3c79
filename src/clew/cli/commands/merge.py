"""`clew merge`: bring one store's results into another."""

from __future__ import annotations

import dataclasses
import sys
from json import dumps

from clew.cli.parsing import IntoPath, SourcePath
from clew.cli.progress import console_for
from clew.cli.registry import register
from clew.cli.training import EXIT_FAILED
from clew.probes.predictions import merge_registrations
from clew.store import Store
from clew.store import merge as merge_stores
from clew.validate import BadInput

WORDS = {
    "copied": "runs copied",
    "same": "the same in both",
    "kept": "further along here than there",
    "conflicts": "in both with different results; the ones here stay",
    "damaged": "could not be read, and were not copied",
    "checkpoints": "packs that can now go on from further",
    "busy": "packs at work, their checkpoints left alone",
    "predictions": "registrations of predictions copied",
}


@register("merge")
def merge(source: SourcePath, into: IntoPath, /, json: bool = False) -> None:
    """Copy the runs, checkpoints and predictions that one store has and another has not.

    Ends with 3 if results of one configuration differ, or if something could not be read.

    Args:
        source: The store to copy from; it is not changed.
        into: The store to copy into; made if there is none.
        json: Print one JSON object.
    """
    if into.exists() and source.resolve() == into.resolve():
        raise BadInput(f"{str(source)!r} and {str(into)!r} are the same store")
    opened = Store(source, read_only=True)
    ours = Store(into)
    done = dataclasses.asdict(merge_stores(ours, opened))
    done["predictions"], broken = merge_registrations(ours, opened)
    done["damaged"] += broken
    console = console_for(json)
    if json:
        print(dumps(done))
    for name, words in WORDS.items():
        if done[name] and not json:
            console.print(f"{len(done[name])} {words}", highlight=False)
    for name in ("conflicts", "damaged", "busy"):
        for line in done[name]:
            console.print(f"  {line}", highlight=False, markup=False)
    if done["conflicts"] or done["damaged"]:
        sys.exit(EXIT_FAILED)
