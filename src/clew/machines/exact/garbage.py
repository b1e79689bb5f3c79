"""Python's search for objects that refer to each other in a circle, put off."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOCK = Lock()
_inside, _searching = 0, True


@contextmanager
def uncollected() -> Iterator[None]:
    """Do not search in here. There are millions of tuples and no circles, and it takes a fifth.

    Not for code of others, which may make circles. The last thread to leave begins to search again.
    """
    global _inside, _searching
    with _LOCK:
        if not _inside:
            _searching = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside and _searching:
                gc.enable()
