"""Fit and score all probes of a suite: few programs for all of them, and every core at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from clew.probes.fitting import mlp
from clew.probes.fitting.auc import auc, auc_by_delay
from clew.probes.fitting.dataset import Dataset
from clew.probes.fitting.logistic import PENALTIES, TOLERANCE, RegularisationPath, solve
from clew.probes.fitting.parallel import on_cpu, parallel_map
from clew.probes.fitting.problems import (
    WIDTHS,
    FeatureSet,
    Reduced,
    SplitDataset,
    feature_sets,
    reduce_features,
    split_dataset,
)
from clew.probes.results import (
    MEMORY,
    NAN,
    PLANTED,
    SPLITS,
    ProbeScores,
    QuestionResult,
    strongest_control,
)

BATCH = 16
"""Feature sets that an accelerator is given at once."""


@dataclass(frozen=True)
class Fitted:
    """The probes of one feature set."""

    scores: ProbeScores
    logits: np.ndarray | None = None
    """The linear probe's, of the test rows."""
    participation_ratio: float = NAN
    checks: Mapping[str, ProbeScores] = field(default_factory=dict)
    """For the memory: the scores with shuffled labels and with the planted signal."""


def measure(
    datasets: Sequence[Dataset], seed: int, progress: Callable[[int, int], None] | None = None
) -> list[QuestionResult]:
    """Probe each dataset; `progress` is told how many feature sets are done, of how many.

    A dataset, or a feature set, that cannot be probed has the reason in its result.
    """
    splits = [split_dataset(data, seed) for data in datasets]
    todo = [one for split in splits for one in feature_sets(split, seed)]
    fitted: dict[tuple[int, str], Fitted] = {}
    report = progress or (lambda done, total: None)
    report(0, len(todo))
    batches = _batches(todo)
    for batch, found in zip(batches, parallel_map(partial(_fit, seed=seed), batches), strict=True):
        fitted |= {(id(b.split), b.name): one for b, one in zip(batch, found, strict=True)}
        report(len(fitted), len(todo))
    return [_result(s, {n: f for (of, n), f in fitted.items() if of == id(s)}) for s in splits]


def _batches(todo: Sequence[FeatureSet]) -> list[Sequence[FeatureSet]]:
    """One by one on a CPU; on an accelerator, several of about one width."""
    if on_cpu():
        return [[one] for one in todo]
    alike = sorted(todo, key=lambda one: min(one.features.shape[1], len(one.train)))
    return [alike[start : start + BATCH] for start in range(0, len(alike), BATCH)]


def _fit(batch: Sequence[FeatureSet], seed: int) -> list[Fitted]:
    """Those of one width are fitted together; the results do not depend on who else is there."""
    reduced = [reduce_features(one, seed) for one in batch]
    fitted = {
        number: Fitted(ProbeScores(size=of.features.shape[1], reason=one))
        for number, (of, one) in enumerate(zip(batch, reduced, strict=True))
        if isinstance(one, str)
    }
    for width in WIDTHS:
        alike = {
            number: one
            for number, one in enumerate(reduced)
            if isinstance(one, Reduced) and one.width == width
        }
        if alike:
            fitted |= zip(alike, _fit_alike([*alike.values()], seed), strict=True)
    return [fitted[number] for number in range(len(batch))]


def _fit_alike(reduced: Sequence[Reduced], seed: int) -> list[Fitted]:
    problems = [one.problems() for one in reduced]
    paths = iter(solve([(problem,) for some in problems for problem in some]))
    linear = [
        [_best_penalty(one, target, next(paths)) for target in range(len(some))]
        for one, some in zip(reduced, problems, strict=True)
    ]
    starts = [
        (problem, probe.w, np.uint32(seed))
        for some, probes in zip(problems, linear, strict=True)
        for problem, probe in zip(some, probes, strict=True)
    ]
    stages = iter(mlp.train(starts))
    return [
        _score(one, probes, [next(stages) for _ in probes])
        for one, probes in zip(reduced, linear, strict=True)
    ]


class _LinearProbe(NamedTuple):
    w: np.ndarray
    l2: float
    unconverged: int
    """Penalties for which the fit did not converge."""


def _best_penalty(reduced: Reduced, target: int, path: RegularisationPath) -> _LinearProbe:
    """The probe with the best AUC in the validation episodes."""
    labels = reduced.of.targets[reduced.of.validation, target]
    logits = reduced.inputs("validation", target) @ reduced.unpadded(path.w).T
    best = int(np.argmax([auc(labels, column) for column in logits.T]))
    unconverged = len(PENALTIES) - int((path.decrement < TOLERANCE).sum())
    return _LinearProbe(np.asarray(path.w[best]), PENALTIES[best], unconverged)


def _score(
    reduced: Reduced, linear: Sequence[_LinearProbe], stages: Sequence[mlp.MlpProbe]
) -> Fitted:
    """AUCs in the test rows, of every target."""
    of = reduced.of
    truth, validation = of.targets[of.split.rows["test"]].T, of.targets[of.validation].T
    weights = reduced.unpadded(np.stack([probe.w for probe in linear]))
    scores, logits = [], []
    for target, (probe, w, several) in enumerate(zip(linear, weights, stages, strict=True)):
        test = reduced.inputs("test", target)
        logits.append(test @ w)
        unpadded = mlp.MlpProbe(
            reduced.unpadded(several.linear), reduced.unpadded(several.hidden), several.out
        )
        best = mlp.choose(w, unpadded, reduced.inputs("validation", target), validation[target])
        scores.append(
            ProbeScores(
                linear=auc(truth[target], logits[-1]),
                mlp=auc(truth[target], mlp.logits(best, test)),
                l2=probe.l2,
                size=of.features.shape[1],
                fitted=len(of.train),
                kept=reduced.components.explained,
                unconverged=probe.unconverged,
            )
        )
    ratio = reduced.components.participation_ratio
    return Fitted(scores[0], logits[0], ratio, _checks(scores[1:]))


def _checks(scores: Sequence[ProbeScores]) -> dict[str, ProbeScores]:
    """The shuffled labels together, and the planted signal, which comes last."""
    if not scores:
        return {}
    *shuffles, planted = scores
    shuffled = replace(
        planted,
        linear=float(np.mean([one.linear for one in shuffles])),
        mlp=float(np.mean([one.mlp for one in shuffles])),
        l2=NAN,
        unconverged=sum(one.unconverged for one in shuffles),
    )
    return {"shuffled": shuffled, PLANTED: planted}


def _result(split: SplitDataset, fitted: Mapping[str, Fitted]) -> QuestionResult:
    data, test = split.data, split.rows["test"]
    rows = {name: len(split.rows[name]) for name in SPLITS}
    episodes = {name: len(np.unique(data.episode[split.rows[name]])) for name in SPLITS}
    if split.reason:
        return QuestionResult(rows=rows, episodes=episodes, reason=split.reason)
    memory = fitted[MEMORY]
    probes = {**{name: one.scores for name, one in fitted.items()}, **memory.checks}
    logits = {name: one.logits for name, one in fitted.items() if one.logits is not None}
    strongest, control = strongest_control({name: one.linear for name, one in probes.items()})
    _, mlp_control = strongest_control({name: one.mlp for name, one in probes.items()})
    reason = memory.scores.reason
    return QuestionResult(
        probes=probes,
        rows=rows,
        episodes=episodes,
        selectivity=memory.scores.linear - control,
        mlp_selectivity=memory.scores.mlp - mlp_control,
        strongest="" if reason else strongest,
        effective_dimension=memory.participation_ratio,
        by_since=auc_by_delay(data.labels[test], data.episode[test], data.since[test], logits),
        reason=reason and f"the memory cannot be probed: {reason}",
    )
