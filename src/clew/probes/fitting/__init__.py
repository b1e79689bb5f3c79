"""Fit probes: how well can something be told from a memory's state, and from less than that?

The names below are imported when they are first asked for: whoever only reads what was measured
must not have to load jax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.probes.fitting.data import Dataset
from clew.probes.fitting.measured import CONTROLS, SPLITS, Bin, Measured, Probe

if TYPE_CHECKING:
    from clew.probes.fitting.fit import measure

__all__ = ["CONTROLS", "SPLITS", "Bin", "Dataset", "Measured", "Probe", "measure"]


def __getattr__(name: str) -> Any:
    if name != "measure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clew.probes.fitting.fit import measure

    return measure
