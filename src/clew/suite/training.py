"""Train one pack into the store: resume, checkpoint, and write what came of every run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clew.learner import History, Pack, Program, TrainState, from_arrays, periods, to_arrays
from clew.learner.agent import components
from clew.learner.checkpoint import Named
from clew.metrics import tail_mean
from clew.store import Conflict, Lease, PackFolder
from clew.store.canonical import JsonObject
from clew.store.leases import writing_under
from clew.suite.logs import Kind, PackLogs, Row, rows_of
from clew.suite.packs import PackSpec
from clew.suite.progress import OnProgress, ProgressMeter
from clew.suite.provenance import begin, origins, provenance
from clew.suite.resuming import RECORD, SPENT
from clew.suite.rows import STATE
from clew.suite.stop import Stop
from clew.validate import BadInput

SCORES = ("bonus", "normalised")
CHECKPOINT_EVERY = 120.0
"""Seconds of training that a crash may cost."""


def train_pack(
    planned: PackSpec,
    folder: PackFolder,
    lease: Lease,
    stop: Stop,
    watch: OnProgress,
    checkpoint_every: float = CHECKPOINT_EVERY,
    logs: Sequence[Kind] = (),
) -> bool:
    """Train until the pack is done or there is a reason to stop; whether it is done."""
    pack, budget, total = planned.pack, planned.runs[0].steps, planned.periods
    done, state, history = _resume(pack, folder)
    # of now: its files may change meanwhile
    with writing_under(lease):
        brought = [
            begin(run, origins(spec), resumed=done > 0)
            for run, spec in zip(folder.runs, planned.runs, strict=True)
        ]
    with PackLogs(logs, folder.root, folder.runs) as log:
        log.begin(_rows(planned, history, done, state))
        meter = ProgressMeter(folder.name, done, total, pack.program.settings.period * len(pack))
        watch(meter.now("compiling"))
        saved = time.monotonic()
        for now in periods(pack, budget, state, done):
            history.add(now)
            state, done = now.state, now.period
            log.write(_rows(planned, history, 1, state))
            meter.add(now)
            watch(meter.now("training"))
            if done == total:
                break
            late = time.monotonic() - saved >= checkpoint_every
            if late or stop.after(now.seconds):
                folder.checkpoints.save(done, _checkpoint(state, history), lease)
                saved = time.monotonic()
                if stop.after(now.seconds):
                    log.end = "stopped"
                    watch(meter.now("stopped"))
                    return False
        assert state is not None
        _write(planned, brought, folder, pack, state, history, lease, meter.compiled)
        log.end = "complete"
    folder.checkpoints.clear()
    watch(meter.now("diverged" if np.all(np.asarray(state.diverged) >= 0) else "finished"))
    return True


def _resume(pack: Pack, folder: PackFolder) -> tuple[int, TrainState | None, History]:
    settings = pack.program.settings
    found = folder.checkpoints.latest()
    if found is None:
        return 0, None, History(settings)
    state = {k.removeprefix(STATE): v for k, v in found.arrays.items() if k.startswith(STATE)}
    record = {k.removeprefix(RECORD): v for k, v in found.arrays.items() if k.startswith(RECORD)}
    try:
        whole = from_arrays(pack, state)
    except BadInput as error:
        # it is sound, and of this configuration: another version of Clew wrote it
        raise BadInput(
            f"{str(folder.checkpoints.folder)!r} cannot be resumed from ({error}); go on with the "
            f"version that wrote it, or remove the folder to train these runs from their beginning"
        ) from None
    return found.step, whole, History(settings, record, float(found.arrays[SPENT]))


def _checkpoint(state: TrainState, history: History) -> Named:
    arrays = {STATE + name: array for name, array in to_arrays(state).items()}
    arrays |= {RECORD + name: array for name, array in history.arrays.items()}
    return {**arrays, SPENT: np.array(history.seconds)}


def _write(
    planned: PackSpec,
    brought: Sequence[Mapping[str, str]],
    folder: PackFolder,
    pack: Pack,
    state: TrainState,
    history: History,
    lease: Lease,
    compiled: float,
) -> None:
    # "seconds" is the run's share of the pack's training, "compiled" what the pack waited for
    times = {"seconds": history.seconds / len(pack), "compiled": compiled}
    about = {**provenance(), "pack": folder.name, "runs": len(pack), **times}
    weights = to_arrays(state)
    for i, run in enumerate(folder.runs):
        if run.finished():
            continue  # this pack was retried for another run's sake
        made = {**about, "from": brought[i]} if brought[i] else about
        kept: JsonObject = {"provenance": made, "lease": lease}
        curve, diagnostics = history.curve(i), _diagnostics(planned, history, i)
        kept |= {"curve": curve, "diagnostics": diagnostics}
        # another suite may hold the same run; the result that was there first stays
        with contextlib.suppress(Conflict):
            if (when := int(state.diverged[i])) >= 0:
                reason = f"a loss or gradient was not finite after {when} environment steps"
                run.write_failed(reason, status="diverged", **kept)
                continue
            result = _result(pack.program, state, i, curve, diagnostics)
            run.write_finished(result, agent=_actor(weights, i), **kept)


def _diagnostics(planned: PackSpec, history: History, run: int, last: int | None = None) -> Named:
    """Of one run; of the last periods, if a number is given."""
    found = history.diagnostics(run, last)
    if planned.runs[run].bonus == "none":
        # its pack's program may have a bonus for other runs: those scores are not this run's
        found |= dict.fromkeys(SCORES, found["delivered"])
    return found


def _rows(
    planned: PackSpec, history: History, last: int, state: TrainState | None
) -> Iterator[list[Row]]:
    """What every run has recorded in its last periods, for logs."""
    if state is None or not last:
        yield from ([] for _ in planned.runs)
        return
    events, parts = planned.runs[0].env.event_names, list(components(state.agent))
    for i in range(len(planned.runs)):
        curve, diagnostics = history.curve(i, last), _diagnostics(planned, history, i, last)
        yield rows_of(curve, diagnostics, events, parts)


def _result(
    program: Program, state: TrainState, run: int, curve: Named, diagnostics: Named
) -> JsonObject:
    """What is stored of a finished run, as plain data."""
    success = curve["success"].astype(float)
    return {
        "tail_mean": float(tail_mean(success)),
        "final_success": float(success[-1]),
        "evaluations": len(success),
        "steps": int(state.steps[run]),
        "first_success": int(state.first_success[run]),
        "normalised": float(np.mean(diagnostics["normalised"], dtype=float)),
        "delivered": float(np.mean(diagnostics["delivered"], dtype=float)),
        "events": list(program.env.event_names),
        "components": list(components(state.agent)),
    }


def _actor(weights: Named, run: int) -> Named:
    """The weights of the actor: playing needs no critic."""
    parts = ("agent/actor/", "agent/policy/")
    return {
        name.removeprefix("agent/"): array[run].copy()
        for name, array in weights.items()
        if name.startswith(parts)
    }
