"""What the probes of one run found: a result for each question, and their summary. Needs no jax."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from clew.loading import load
from clew.store.canonical import JsonObject

SPLITS = ("train", "validation", "test")
MEMORY = "memory"
CONTROLS = ("observation", "untrained", "shuffled")
FEATURES = (MEMORY, *CONTROLS)
PLANTED = "planted"
"""A check of the probes, not a control of the memory."""
CHANCE = 0.5
NAN = math.nan

Kind = Literal["linear", "mlp"]
KINDS: tuple[Kind, ...] = ("linear", "mlp")


@dataclass(frozen=True)
class ProbeScores:
    """The probes of one set of features. AUCs are those of the held-out test episodes."""

    linear: float = NAN
    """AUC of the logistic probe."""
    mlp: float = NAN
    """AUC of the MLP probe."""
    l2: float = NAN
    """The logistic probe's penalty, the one with the best AUC in the validation episodes: the loss
    is the mean log loss plus l2/2 · |w|², where every feature has variance 1. NaN for the shuffled
    labels, where every shuffle has its own."""
    size: int = 0
    """Number of features."""
    fitted: int = 0
    """Training rows that the probes were fitted to: all, or a sample of 8,192."""
    kept: float = NAN
    """Share of the variance in the principal components that the probes are given; 1 for up to 256
    features."""
    unconverged: int = 0
    """Logistic fits, over penalties (and shuffles), that did not converge in 40 steps."""
    reason: str = ""
    """Why there are no scores; empty if there are."""


@dataclass(frozen=True)
class DelayBin:
    """The linear probes in the test rows of one delay: steps since the answer was last visible."""

    low: int
    high: int
    """Both ends included."""
    rows: int
    episodes: int
    auc: Mapping[str, float]
    """By name of the features; NaN where all labels in the bin are equal."""


@dataclass(frozen=True)
class QuestionResult:
    """What the probes of one question found. Unknown numbers are NaN."""

    probes: Mapping[str, ProbeScores] = field(default_factory=dict)
    """By name of the features. "shuffled" is the control task: the memory with labels swapped
    between episodes (`clew.probes.fitting.dataset.shuffle_labels`), AUCs averaged over a few
    shuffles. "planted" is the memory with a known signal added, which the probes should find
    (`clew.probes.fitting.problems.DISTANCE`)."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By split, before any are left out of a fit."""
    episodes: Mapping[str, int] = field(default_factory=dict)
    """By split."""
    selectivity: float = NAN
    """AUC of the linear probe of the memory minus the strongest control's (at least 0.5)."""
    mlp_selectivity: float = NAN
    """The same for the MLP probes."""
    strongest: str = ""
    """The control in `selectivity`; "chance" if none was above 0.5."""
    effective_dimension: float = NAN
    """Participation ratio of the memory: (Σλ)² / Σλ² of the eigenvalues λ of the correlation matrix
    of its states in the training rows. 1 if all lie on a line, d if they fill all d alike."""
    by_since: tuple[DelayBin, ...] = ()
    """By steps since the answer was visible: 0, 1, 2–3, 4–7, … Empty if that has no meaning."""
    reason: str = ""
    """Why the memory could not be probed; empty if it could."""

    @property
    def evaluable(self) -> bool:
        """Whether the memory could be probed."""
        return not self.reason

    def auc(self, features: str, kind: Kind) -> float:
        """AUC of one kind of probe; NaN if those features were not probed."""
        return getattr(self.probes[features], kind) if features in self.probes else NAN

    def to_json(self) -> JsonObject:
        """Plain data; what is not known is None."""
        return without_nan(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, data: JsonObject) -> QuestionResult:
        """The inverse of `to_json`."""
        plain = _map_leaves(data, lambda value: NAN if value is None else value)
        return load(plain, cls, "result of a probe")


class DelaySummary(TypedDict):
    """A delay bin of all questions together."""

    low: int
    high: int
    rows: int
    auc: dict[str, float | None]


class ProbeSummary(TypedDict):
    """A run's probes in a few numbers: means over its questions. None where it is not known."""

    linear: dict[str, float | None]
    mlp: dict[str, float | None]
    """AUC by name of the features."""
    selectivity: float | None
    mlp_selectivity: float | None
    effective_dimension: float | None
    state_size: int
    questions: int
    rows: int
    unconverged: int
    by_since: list[DelaySummary]


def summarize(results: Sequence[QuestionResult]) -> ProbeSummary | None:
    """The means over the questions that could be probed; None without any.

    Selectivity is that of the mean AUCs: subtracting the strongest of several noisy controls
    question by question would subtract too much.
    """
    sound = [one for one in results if one.evaluable]
    if not sound:
        return None
    linear, mlp = (
        {name: _mean(one.auc(name, kind) for one in sound) for name in (*FEATURES, PLANTED)}
        for kind in KINDS
    )
    return ProbeSummary(
        linear=linear,
        mlp=mlp,
        selectivity=selectivity(linear),
        mlp_selectivity=selectivity(mlp),
        effective_dimension=_mean(one.effective_dimension for one in sound),
        state_size=sound[0].probes[MEMORY].size,
        questions=len(sound),
        rows=sum(sum(one.rows.values()) for one in sound),
        unconverged=sum(p.unconverged for one in sound for p in one.probes.values()),
        by_since=_delays(sound),
    )


def strongest_control(aucs: Mapping[str, float | None]) -> tuple[str, float]:
    """The control with the highest AUC; ("chance", 0.5) if none is above 0.5."""
    known = {name: aucs.get(name) or NAN for name in CONTROLS}
    above = {name: auc for name, auc in known.items() if auc > CHANCE}
    return max({"chance": CHANCE, **above}.items(), key=lambda item: item[1])


def selectivity(aucs: Mapping[str, float | None]) -> float | None:
    """AUC of the memory minus the strongest control's; no control counts as weaker than chance."""
    memory = aucs[MEMORY]
    return None if memory is None else memory - strongest_control(aucs)[1]


def _delays(results: Sequence[QuestionResult]) -> list[DelaySummary]:
    """Bins of all questions together, each question's AUC weighted by its rows."""
    bins: dict[tuple[int, int], list[DelayBin]] = defaultdict(list)
    for result in results:
        for one in result.by_since:
            bins[one.low, one.high].append(one)
    found = []
    for (low, high), members in sorted(bins.items()):
        names = dict.fromkeys(name for one in members for name in one.auc)
        aucs = {name: _weighted(members, name) for name in names}
        rows = sum(one.rows for one in members)
        found.append(DelaySummary(low=low, high=high, rows=rows, auc=aucs))
    return found


def _weighted(bins: Sequence[DelayBin], name: str) -> float | None:
    known = [one for one in bins if math.isfinite(one.auc.get(name, NAN))]
    rows = sum(one.rows for one in known)
    return math.fsum(one.rows * one.auc[name] for one in known) / rows if rows else None


def _mean(values: Iterable[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else None


def without_nan(data: object) -> Any:
    """Plain data with None in place of NaN, which JSON does not have."""

    def known(value: object) -> object:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return _map_leaves(data, known)


def _map_leaves(value: object, change: Callable[[object], object]) -> Any:
    if isinstance(value, Mapping):
        return {key: _map_leaves(one, change) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_leaves(one, change) for one in value]
    return change(value)
