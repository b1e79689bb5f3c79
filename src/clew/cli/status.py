"""`clew status`: how do the runs of a store stand?"""

from __future__ import annotations

from pathlib import Path

from clew.cli.display import console_for
from clew.cli.tables import show
from clew.suite.store import Store, count, scan
from clew.validate import BadInput


def status(store: Path = Path("results"), /, deep: bool = False, json: bool = False) -> None:
    """Count runs by status, list arms with their tail means, and everything that failed, and why.

    Args:
        store: Folder of the results.
        deep: Verify every file's checksum too.
        json: Print one JSON object.
    """
    if not store.exists():
        raise BadInput(f"{str(store)!r} does not exist; name the folder of a store")
    opened = Store(store, read_only=True)
    rows = scan(opened, deep=deep)
    console = console_for(json)
    show(console, rows, count(rows), json)
    for aside in opened.set_aside():
        console.print(f"set aside: {aside}", highlight=False, markup=False)
