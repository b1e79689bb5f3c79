"""Train one pack into the store: resume, checkpoint, and write what came of every run."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from clew.learner import Pack, TrainState, from_arrays, periods, to_arrays
from clew.store import Conflict, Lease, PackFolder
from clew.suite.planning import PackSpec
from clew.suite.progress import OnProgress, ProgressMeter
from clew.suite.provenance import provenance
from clew.suite.records import TrainingRecords, result_of, with_steps
from clew.suite.stop import Stop
from clew.validate import BadInput

STATE, RECORD, SPENT = "state/", "record/", "seconds"
CHECKPOINT_EVERY = 120.0
"""Seconds of training that a crash may cost."""


def train_pack(
    planned: PackSpec,
    folder: PackFolder,
    lease: Lease,
    stop: Stop,
    watch: OnProgress,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> bool:
    """Train until the pack is done or there is a reason to stop; whether it is done."""
    pack, budget, total = planned.pack, planned.runs[0].steps, planned.periods
    done, state, record, spent = _resume(pack, folder)
    for run in folder.runs:
        run.begin()
    meter = ProgressMeter(folder.name, done, total, pack.program.settings.period * len(pack))
    watch(meter.now("compiling"))
    saved = time.monotonic()
    for now in periods(pack, budget, state, done):
        record.add(now.record)
        spent += now.seconds
        state, done = now.state, now.period
        meter.add(now)
        watch(meter.now("training"))
        if done == total:
            break
        late = time.monotonic() - saved >= checkpoint_every
        if late or stop.after(now.seconds):
            folder.checkpoints.save(done, _checkpoint(state, record, spent), lease)
            saved = time.monotonic()
            if stop.after(now.seconds):
                watch(meter.now("stopped"))
                return False
    assert state is not None
    _write(planned, folder, pack, state, record, spent, lease)
    folder.checkpoints.clear()
    watch(meter.now("finished"))
    return True


def _resume(
    pack: Pack, folder: PackFolder
) -> tuple[int, TrainState | None, TrainingRecords, float]:
    found = folder.checkpoints.latest()
    if found is None:
        return 0, None, TrainingRecords(), 0.0
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
    return found.step, whole, TrainingRecords(record), float(found.arrays[SPENT])


def _checkpoint(state: TrainState, record: TrainingRecords, spent: float) -> dict[str, np.ndarray]:
    arrays = {STATE + name: array for name, array in to_arrays(state).items()}
    arrays |= {RECORD + name: array for name, array in record.arrays.items()}
    return {**arrays, SPENT: np.array(spent)}


def _write(
    planned: PackSpec,
    folder: PackFolder,
    pack: Pack,
    state: TrainState,
    record: TrainingRecords,
    spent: float,
    lease: Lease,
) -> None:
    about = {**provenance(), "pack": folder.name, "runs": len(pack), "seconds": spent / len(pack)}
    weights = to_arrays(state)
    for i, run in enumerate(folder.runs):
        if run.finished():
            continue  # this pack was retried for another run's sake
        kept: dict[str, Any] = {"provenance": about, "lease": lease}
        alone = planned.runs[i].bonus == "none"
        curve, diagnostics = with_steps(
            pack.program, record.curve(i), record.diagnostics(i, without_bonus=alone)
        )
        kept |= {"curve": curve, "diagnostics": diagnostics}
        if (when := int(state.diverged[i])) >= 0:
            reason = f"a loss or gradient was not finite after {when} environment steps"
            run.write_failed(reason, status="diverged", **kept)
            continue
        result = result_of(pack.program, state, i, curve, diagnostics)
        # another suite may hold the same run; the result that was there first stays
        with contextlib.suppress(Conflict):
            run.write_finished(result, agent=_actor(weights, i), **kept)


def _actor(weights: dict[str, np.ndarray], run: int) -> dict[str, np.ndarray]:
    """What is needed to play: the critic has done its work."""
    parts = ("agent/actor/", "agent/policy/")
    return {
        name.removeprefix("agent/"): array[run].copy()
        for name, array in weights.items()
        if name.startswith(parts)
    }
