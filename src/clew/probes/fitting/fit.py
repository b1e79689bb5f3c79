"""Fit all probes of a suite: those whose problems have one shape are one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.probes.fitting import logistic, mlp
from clew.probes.fitting.ages import by_since
from clew.probes.fitting.auc import auc, by_column
from clew.probes.fitting.data import MEMORY, Dataset
from clew.probes.fitting.jobs import Job, Plan, Prepared, batches, jobs_of, plan, prepare
from clew.probes.fitting.measured import CONTROLS, NAN, SPLITS, Measured, Probe

GRID = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Penalties, strongest first: of equals, the first is chosen."""


@dataclass(frozen=True)
class Fitted:
    """What came of one job."""

    probe: Probe
    scores: np.ndarray | None = None
    """The linear probe's, of the test rows."""
    participation: float = NAN
    null: Probe | None = None
    """Of the swapped labels, if this is the memory."""


def measure(
    datasets: Sequence[Dataset], seed: int, progress: Callable[[int, int], None] | None = None
) -> list[Measured]:
    """What can be told from each dataset; `progress` hears how many fits are done, of how many.

    A dataset, or a set of features, that nothing can be told from is answered with the reason.
    """
    plans = [plan(data, seed) for data in datasets]
    jobs = [job for each in plans for job in jobs_of(each, seed)]
    fitted: dict[tuple[int, str], Fitted] = {}
    report = progress or (lambda done, total: None)
    report(0, len(jobs))
    for together in batches(jobs):
        for job, result in zip(together, _fit(together, seed), strict=True):
            fitted[id(job.plan), job.name] = result
        report(len(fitted), len(jobs))
    return [_measured(p, {n: f for (of, n), f in fitted.items() if of == id(p)}) for p in plans]


def _fit(jobs: Sequence[Job], seed: int) -> list[Fitted]:
    ready = [prepare(job, seed) for job in jobs]
    sound = [each for each in ready if isinstance(each, Prepared)]
    done = iter(_fit_sound(sound, seed) if sound else [])
    return [
        next(done) if isinstance(each, Prepared)
        else Fitted(Probe(size=job.features.shape[1], reason=each))
        for job, each in zip(jobs, ready, strict=True)
    ]  # fmt: skip


def _fit_sound(ready: Sequence[Prepared], seed: int) -> list[Fitted]:
    problems = [_problem(each) for each in ready]
    stacked = logistic.Problem(*(np.stack(arrays) for arrays in zip(*problems, strict=True)))
    weights = np.asarray(logistic.solve(stacked).w)
    chosen = [_choose(*each) for each in zip(ready, weights, strict=True)]
    rows = np.array([len(each.train) for each in ready])
    linear = np.stack([w for w, _ in chosen])
    networks = mlp.train(stacked.x, rows, stacked.y[:, :, :: len(GRID)], linear, seed)
    parts = zip(ready, chosen, zip(*networks, strict=True), strict=True)
    return [_score(each, w, l2, mlp.Mlp(*network)) for each, (w, l2), network in parts]


def _problem(ready: Prepared) -> logistic.Problem:
    """Fits of every label with every penalty, in that order, filled up to the job's shape."""
    rows, width, labels = ready.job.shape
    n = len(ready.train)
    x, y = np.zeros((rows, width + 1), np.float32), np.zeros((rows, labels), np.float32)
    x[:n], y[:n] = ready.train, ready.job.labels[ready.job.train]
    variance = np.zeros(width + 1, np.float32)
    variance[: len(ready.turn.variance)], variance[-1] = ready.turn.variance, 1
    mass = np.where(np.arange(rows) < n, 1 / n, 0).astype(np.float32)
    l2 = np.tile(np.array(GRID, np.float32), labels)
    return logistic.Problem(x, mass, np.repeat(y, len(GRID), 1), l2, variance)


def _choose(ready: Prepared, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights of the best penalty for each label, [feature, label], and that of the first."""
    labels, scores = ready.job.labels[ready.job.validation], ready.validation @ weights
    best = [
        number * len(GRID) + int(np.argmax(by_column(own, each)))
        for number, (own, each) in enumerate(
            zip(labels.T, np.split(scores, labels.shape[1], 1), strict=True)
        )
    ]
    return weights[:, best], GRID[best[0]]


def _score(ready: Prepared, w: np.ndarray, l2: float, networks: mlp.Mlp) -> Fitted:
    """AUCs in the test rows, of the labels and of the null."""
    job = ready.job
    truth, validation = job.labels[job.plan.rows["test"]], job.labels[job.validation]
    scores = ready.test @ w
    linear = [auc(*each) for each in zip(truth.T, scores.T, strict=True)]
    small = []
    for number, stages in enumerate(zip(*networks, strict=True)):
        best = mlp.choose(w[:, number], mlp.Mlp(*stages), ready.validation, validation[:, number])
        small.append(auc(truth[:, number], mlp.logits(best, ready.test)))
    size, kept = job.features.shape[1], ready.turn.kept
    probe = Probe(linear[0], small[0], l2, size, len(job.train), kept)
    null = replace(probe, linear=_mean(linear[1:]), mlp=_mean(small[1:]), l2=NAN)
    swapped = null if job.name == MEMORY else None
    return Fitted(probe, scores[:, 0], ready.turn.participation, swapped)


def _measured(plan: Plan, fitted: Mapping[str, Fitted]) -> Measured:
    data, test = plan.data, plan.rows["test"]
    rows = {name: len(plan.rows[name]) for name in SPLITS}
    episodes = {name: len(np.unique(data.episode[plan.rows[name]])) for name in SPLITS}
    if plan.reason:
        return Measured(rows=rows, episodes=episodes, reason=plan.reason)
    memory = fitted[MEMORY]
    probes = {name: each.probe for name, each in fitted.items()}
    if memory.null is not None:
        probes["shuffled"] = memory.null
    scores = {name: each.scores for name, each in fitted.items() if each.scores is not None}
    strongest, linear = _strongest(probes, "linear")
    _, small = _strongest(probes, "mlp")
    return Measured(
        probes=probes,
        rows=rows,
        episodes=episodes,
        selectivity=memory.probe.linear - linear,
        mlp_selectivity=memory.probe.mlp - small,
        strongest="" if memory.probe.reason else strongest,
        effective_dimension=memory.participation,
        by_since=by_since(data.labels[test], data.episode[test], data.since[test], scores),
        reason=memory.probe.reason and f"the memory cannot be probed: {memory.probe.reason}",
    )


def _strongest(probes: Mapping[str, Probe], kind: str) -> tuple[str, float]:
    """The control with the highest AUC; a control below chance is no weaker than chance."""
    found = {"chance": 0.5}
    for name in CONTROLS:
        value = getattr(probes[name], kind) if name in probes else NAN
        if value > 0.5:
            found[name] = value
    return max(found.items(), key=lambda item: item[1])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else NAN
