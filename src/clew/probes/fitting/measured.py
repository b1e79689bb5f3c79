"""What probes found, as plain data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SPLITS = ("train", "validation", "test")
CONTROLS = ("observation", "untrained", "shuffled")
PLANTED = "planted"
"""A check of the probes, not a control of the memory."""
NAN = math.nan


@dataclass(frozen=True)
class Probe:
    """What can be told from one set of features. AUCs are those of the test episodes."""

    linear: float = NAN
    """AUC of the logistic probe."""
    mlp: float = NAN
    """AUC of the MLP probe."""
    l2: float = NAN
    """The logistic probe's penalty, the one with the best AUC in the validation episodes: the mean
    loss plus l2/2 · |w|², where every feature has variance 1. NaN for the swapped labels, where
    every swap has its own."""
    size: int = 0
    """How many features there are."""
    fitted: int = 0
    """Training rows that the probes were fitted to: all, or 8,192 spread over all."""
    kept: float = NAN
    """Share of their variance in the components that the probes see: all, up to 256 features."""
    unconverged: int = 0
    """Logistic fits, over penalties (and swaps), that had not reached their minimum in 40 steps."""
    reason: str = ""
    """Why it is not evaluable; empty if it is."""


@dataclass(frozen=True)
class Bin:
    """The linear probes in test rows of one age of the cue."""

    low: int
    high: int
    """Steps since the cue was visible, both ends included."""
    rows: int
    episodes: int
    auc: Mapping[str, float]
    """By name of the features; NaN where the bin has one class alone."""


@dataclass(frozen=True)
class Measured:
    """What probes found in one dataset. What could not be found out is NaN."""

    probes: Mapping[str, Probe] = field(default_factory=dict)
    """By the name of the features; "shuffled" is the memory with labels swapped between episodes
    (`clew.probes.fitting.shuffle`), its AUCs the mean of a few swaps; "planted" is the memory with
    a signal for such labels added to it (`clew.probes.fitting.jobs.DISTANCE`), to be found."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By split, before any are left out of a fit."""
    episodes: Mapping[str, int] = field(default_factory=dict)
    """By split."""
    selectivity: float = NAN
    """AUC of the linear probe of the memory minus the strongest control's (at least 0.5)."""
    mlp_selectivity: float = NAN
    """The same of the MLP probes."""
    strongest: str = ""
    """The control in `selectivity`; "chance" if none was above 0.5."""
    effective_dimension: float = NAN
    """Participation ratio of the memory: (Σλ)² / Σλ² of the eigenvalues λ of the correlation matrix
    of its states in the training rows. 1 if all lie on a line, d if they fill all d alike."""
    by_since: tuple[Bin, ...] = ()
    """By steps since the cue was visible: 0, 1, 2–3, 4–7, … Empty if there is no cue."""
    reason: str = ""
    """Why it is not evaluable; empty if the memory's probes are."""

    @property
    def evaluable(self) -> bool:
        """Whether the memory could be probed."""
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not known is None."""
        return _known(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measured:
        """The inverse of `to_json`."""
        plain = dict(data)
        probes = {name: Probe(**_numbers(Probe, probe)) for name, probe in plain["probes"].items()}
        bins = tuple(
            Bin(**{**each, "auc": {k: NAN if v is None else v for k, v in each["auc"].items()}})
            for each in plain["by_since"]
        )
        return cls(**{**_numbers(cls, plain), "probes": probes, "by_since": bins})


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    floats = {each.name for each in dataclasses.fields(kind) if each.type == "float"}
    return {k: NAN if v is None and k in floats else v for k, v in data.items()}
