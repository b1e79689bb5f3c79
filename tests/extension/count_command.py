"""A command: `clew count STORE`."""

from __future__ import annotations

from pathlib import Path

from clew.cli import register
from clew.store import Store


@register("count")
def count(store: Path, /, times: int = 1) -> None:
    """Count the runs of a store.

    Args:
        store: Folder of the results.
        times: Count each so many times.
    """
    print(f"{times * len(list(Store(store, read_only=True).folders()))} runs")
