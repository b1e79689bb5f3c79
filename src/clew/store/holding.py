"""Writing under a lease."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

from clew.store.errors import CannotWrite


class Holding(Protocol):
    """The right to write: a lease."""

    def check(self) -> None:
        """Raise `LeaseLost` if the right is gone."""
        ...

    def confirm(self) -> None:
        """Raise `LeaseLost` if the right is gone; if not, hold it for another full period."""
        ...


@contextlib.contextmanager
def under(lease: Holding | None) -> Iterator[None]:
    """Find out about a lost lease before writing, and also if that is why a write fails.

    Who takes over sweeps unfinished files away, so that what was stopped in the middle of a write
    and goes on later cannot complete it.
    """
    if lease is not None:
        lease.check()
    try:
        yield
    except CannotWrite:
        if lease is not None:
            lease.check()
        raise
