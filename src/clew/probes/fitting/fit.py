"""Fit all probes of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.probes.fitting.data import Dataset
from clew.probes.fitting.measured import Measured


def measure(
    datasets: Sequence[Dataset], seed: int, progress: Callable[[int, int], None] | None = None
) -> list[Measured]:
    """What can be told from each dataset; `progress` hears how many fits are done, of how many."""
    raise NotImplementedError
