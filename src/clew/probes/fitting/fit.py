"""Fit and score all probes of a suite: few programs for all of them, and every core at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from clew.probes.fitting import mlp
from clew.probes.fitting.auc import auc, auc_by_delay
from clew.probes.fitting.dataset import Dataset
from clew.probes.fitting.logistic import PENALTIES, TOLERANCE, RegularisationPath, solve
from clew.probes.fitting.parallel import on_cpu, parallel_map
from clew.probes.fitting.problems import (
    FeatureSet,
    ReducedFeatures,
    SplitDataset,
    Target,
    feature_sets,
    reduce_features,
    split_dataset,
    targets_of,
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


class TargetFit(NamedTuple):
    """The probes of one target of a feature set."""

    scores: ProbeScores
    logits: np.ndarray | None = None
    """The linear probe's, of the test rows."""
    participation_ratio: float = NAN
    """Of the feature set."""


def measure(
    datasets: Sequence[Dataset], seed: int, progress: Callable[[int, int], None] | None = None
) -> list[QuestionResult]:
    """Probe each dataset; `progress` is called with how many feature sets are done and how
    many there are.

    A dataset, or a feature set, that cannot be probed has the reason in its result.
    """
    splits = [split_dataset(data, seed) for data in datasets]
    todo = [one for split in splits for one in feature_sets(split, seed)]
    fitted: dict[tuple[int, str], list[TargetFit]] = {}
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
    alike = sorted(todo, key=lambda one: min(one.features.shape[1], len(one.rows["train"])))
    return [alike[start : start + BATCH] for start in range(0, len(alike), BATCH)]


def _fit(batch: Sequence[FeatureSet], seed: int) -> list[list[TargetFit]]:
    """The fits of each feature set's targets; one with the reason if it cannot be probed."""
    reduced = [reduce_features(one, seed) for one in batch]
    targets = [t for one in reduced if isinstance(one, ReducedFeatures) for t in targets_of(one)]
    problems = [target.problem() for target in targets]
    paths = solve([(problem,) for problem in problems])
    linear = [_best_penalty(*pair) for pair in zip(targets, paths, strict=True)]
    starts = [(p, probe.w, np.uint32(seed)) for p, probe in zip(problems, linear, strict=True)]
    stages = mlp.train(starts)
    fits = [_score(*one) for one in zip(targets, linear, stages, strict=True)]
    return [
        [TargetFit(ProbeScores(size=of.features.shape[1], reason=one))]
        if isinstance(one, str)
        else [fit for target, fit in zip(targets, fits, strict=True) if target.features is one]
        for of, one in zip(batch, reduced, strict=True)
    ]


class _LinearProbe(NamedTuple):
    w: np.ndarray
    l2: float
    unconverged: int
    """Penalties for which the fit did not converge."""


def _best_penalty(target: Target, path: RegularisationPath) -> _LinearProbe:
    """The probe with the best AUC in the validation episodes."""
    logits = target.x("validation") @ target.features.unpad(path.w).T
    best = int(np.argmax([auc(target.y("validation"), column) for column in logits.T]))
    unconverged = len(PENALTIES) - int((path.decrement < TOLERANCE).sum())
    return _LinearProbe(np.asarray(path.w[best]), PENALTIES[best], unconverged)


def _score(target: Target, linear: _LinearProbe, stages: mlp.MlpProbe) -> TargetFit:
    """AUCs in the test rows."""
    reduced, (w,) = target.features, target.features.unpad(linear.w[None])
    test, truth = target.x("test"), target.y("test")
    logits = test @ w
    unpadded = mlp.MlpProbe(reduced.unpad(stages.linear), reduced.unpad(stages.hidden), stages.out)
    best = mlp.choose(w, unpadded, target.x("validation"), target.y("validation"))
    scores = ProbeScores(
        linear=auc(truth, logits),
        mlp=auc(truth, mlp.logits(best, test)),
        l2=linear.l2,
        size=reduced.source.features.shape[1],
        fitted=len(reduced.source.rows["train"]),
        kept=reduced.components.explained,
        unconverged=linear.unconverged,
    )
    return TargetFit(scores, logits, reduced.components.participation_ratio)


def _checks(fits: Sequence[TargetFit]) -> dict[str, ProbeScores]:
    """The shuffled labels together, and the planted signal, which comes last."""
    if not fits:
        return {}
    *shuffles, planted = [fit.scores for fit in fits]
    shuffled = replace(
        planted,
        linear=float(np.mean([one.linear for one in shuffles])),
        mlp=float(np.mean([one.mlp for one in shuffles])),
        l2=NAN,
        unconverged=sum(one.unconverged for one in shuffles),
    )
    return {"shuffled": shuffled, PLANTED: planted}


def _result(split: SplitDataset, fitted: Mapping[str, Sequence[TargetFit]]) -> QuestionResult:
    data, test = split.data, split.rows["test"]
    rows = {name: len(split.rows[name]) for name in SPLITS}
    episodes = {name: len(np.unique(data.episode[split.rows[name]])) for name in SPLITS}
    if split.reason:
        return QuestionResult(rows=rows, episodes=episodes, reason=split.reason)
    labels = {name: fits[0] for name, fits in fitted.items()}
    logits = {name: fit.logits for name, fit in labels.items() if fit.logits is not None}
    memory = labels[MEMORY].scores
    probes = {**{name: fit.scores for name, fit in labels.items()}, **_checks(fitted[MEMORY][1:])}
    strongest, control = strongest_control({name: one.linear for name, one in probes.items()})
    _, mlp_control = strongest_control({name: one.mlp for name, one in probes.items()})
    return QuestionResult(
        probes=probes,
        rows=rows,
        episodes=episodes,
        selectivity=memory.linear - control,
        mlp_selectivity=memory.mlp - mlp_control,
        strongest="" if memory.reason else strongest,
        effective_dimension=labels[MEMORY].participation_ratio,
        by_since=auc_by_delay(data.labels[test], data.episode[test], data.since[test], logits),
        reason=memory.reason and f"the memory cannot be probed: {memory.reason}",
    )
