"""Fit all probes of a suite: few programs for all of them, and every core at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from clew.probes.fitting import mlp
from clew.probes.fitting.ages import by_since
from clew.probes.fitting.auc import auc, by_column
from clew.probes.fitting.data import MEMORY, Dataset
from clew.probes.fitting.each import in_lanes, on_a_cpu
from clew.probes.fitting.jobs import WIDTHS, Job, Plan, Prepared, jobs_of, plan, prepare
from clew.probes.fitting.logistic import PENALTIES, TOLERANCE, Solved, solve
from clew.probes.fitting.measured import CONTROLS, NAN, PLANTED, SPLITS, Measured, Probe

BATCH = 16
"""Jobs that an accelerator is given at once."""


@dataclass(frozen=True)
class Fitted:
    """What came of one job."""

    probe: Probe
    scores: np.ndarray | None = None
    """The linear probe's, of the test rows."""
    participation: float = NAN
    checks: Mapping[str, Probe] = field(default_factory=dict)
    """Of the memory: labels that say nothing about it, and a signal that is in it."""


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
    batches = _batches(jobs)
    for some, found in zip(batches, in_lanes(partial(_fit, seed=seed), batches), strict=True):
        fitted |= {(id(job.plan), job.name): one for job, one in zip(some, found, strict=True)}
        report(len(fitted), len(jobs))
    return [_measured(p, {n: f for (of, n), f in fitted.items() if of == id(p)}) for p in plans]


def _batches(jobs: Sequence[Job]) -> list[Sequence[Job]]:
    """One by one on a CPU; on an accelerator, several of about one width."""
    if on_a_cpu():
        return [[job] for job in jobs]
    alike = sorted(jobs, key=lambda job: min(job.features.shape[1], len(job.train)))
    return [alike[start : start + BATCH] for start in range(0, len(alike), BATCH)]


def _fit(jobs: Sequence[Job], seed: int) -> list[Fitted]:
    """Those that have one width together: what is found must not depend on who else is there."""
    ready = [prepare(job, seed) for job in jobs]
    fitted = {
        number: Fitted(Probe(size=job.features.shape[1], reason=each))
        for number, (job, each) in enumerate(zip(jobs, ready, strict=True))
        if isinstance(each, str)
    }
    for width in WIDTHS:
        alike = {
            number: each
            for number, each in enumerate(ready)
            if isinstance(each, Prepared) and each.width == width
        }
        if alike:
            fitted |= zip(alike, _fit_alike([*alike.values()], seed), strict=True)
    return [fitted[number] for number in range(len(jobs))]


def _fit_alike(ready: Sequence[Prepared], seed: int) -> list[Fitted]:
    problems = [each.problems() for each in ready]
    solved = iter(solve([(one,) for some in problems for one in some]))
    lines = [
        [_choose(each, number, next(solved)) for number in range(len(some))]
        for each, some in zip(ready, problems, strict=True)
    ]
    pairs = [
        (one, line.w, np.uint32(seed))
        for some, each in zip(problems, lines, strict=True)
        for one, line in zip(some, each, strict=True)
    ]
    networks = iter(mlp.train(pairs))
    return [
        _score(each, some, [next(networks) for _ in some])
        for each, some in zip(ready, lines, strict=True)
    ]


class _Line(NamedTuple):
    """A logistic probe: that of the best penalty."""

    w: np.ndarray
    l2: float
    unconverged: int
    """Penalties whose fits did not end where they should."""


def _choose(ready: Prepared, label: int, solved: Solved) -> _Line:
    labels = ready.job.labels[ready.job.validation, label]
    seen = ready.seen("validation", label)
    best = int(np.argmax(by_column(labels, seen @ ready.trimmed(solved.w).T)))
    failed = len(PENALTIES) - int((solved.left < TOLERANCE).sum())
    return _Line(np.asarray(solved.w[best]), PENALTIES[best], failed)


def _score(ready: Prepared, lines: Sequence[_Line], networks: Sequence[mlp.Mlp]) -> Fitted:
    """AUCs in the test rows, of every label."""
    job = ready.job
    truth, validation = job.labels[job.plan.rows["test"]].T, job.labels[job.validation].T
    w = ready.trimmed(np.stack([line.w for line in lines]))
    probes, scores = [], []
    for number, (stages, line, found) in enumerate(zip(networks, w, lines, strict=True)):
        test = ready.seen("test", number)
        scores.append(test @ line)
        several = mlp.Mlp(ready.trimmed(stages.w), ready.trimmed(stages.first), stages.last)
        best = mlp.choose(line, several, ready.seen("validation", number), validation[number])
        probes.append(
            Probe(
                auc(truth[number], scores[-1]), auc(truth[number], mlp.logits(best, test)),
                found.l2, job.features.shape[1], len(job.train), ready.turn.kept, found.unconverged,
            )
        )  # fmt: skip
    return Fitted(probes[0], scores[0], ready.turn.participation, _checks(probes[1:]))


def _checks(probes: Sequence[Probe]) -> dict[str, Probe]:
    """Of the swapped labels together, and of the planted signal, which comes last."""
    if not probes:
        return {}
    *swapped, planted = probes
    null = replace(
        planted,
        linear=float(np.mean([each.linear for each in swapped])),
        mlp=float(np.mean([each.mlp for each in swapped])),
        l2=NAN,
        unconverged=sum(each.unconverged for each in swapped),
    )
    return {"shuffled": null, PLANTED: planted}


def _measured(plan: Plan, fitted: Mapping[str, Fitted]) -> Measured:
    data, test = plan.data, plan.rows["test"]
    rows = {name: len(plan.rows[name]) for name in SPLITS}
    episodes = {name: len(np.unique(data.episode[plan.rows[name]])) for name in SPLITS}
    if plan.reason:
        return Measured(rows=rows, episodes=episodes, reason=plan.reason)
    memory = fitted[MEMORY]
    probes = {name: each.probe for name, each in fitted.items()}
    probes |= memory.checks
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
