"""Train a pack: compiled periods, and everything that needs Python in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax

from clew.learner.history import History, gather
from clew.learner.pack import Pack
from clew.learner.run import EvalPeriod, TrainState
from clew.validate import BadInput, whole_number


class Progress(NamedTuple):
    """Where a pack stands after a period."""

    period: int
    """Periods done, this one included."""
    periods: int
    state: TrainState
    """To save, if it is to be resumed; the next period uses it up."""
    record: EvalPeriod
    seconds: float
    """Wall time of this period, compilation apart."""


def periods_in(pack: Pack, steps: int) -> int:
    """How many periods a budget of environment steps pays for; what is left over is not spent."""
    length = pack.program.settings.period
    if whole_number("steps", steps, 1) < length:
        raise BadInput(
            f"steps={steps} is not valid; one period (eval_every × envs × steps of a rollout) "
            f"takes {length}"
        )
    return steps // length


def periods(
    pack: Pack, steps: int, state: TrainState | None = None, done: int = 0
) -> Iterator[Progress]:
    """Train period by period. To resume, give the state after `done` periods."""
    total = periods_in(pack, steps)
    state = pack.begin() if state is None else state
    if done < total:
        pack.compile(state)
    for period in range(done + 1, total + 1):
        began = time.perf_counter()
        state, record = pack.advance(state)
        record = jax.device_get(record)
        yield Progress(period, total, state, record, time.perf_counter() - began)


def train(pack: Pack, steps: int, watch: Callable[[Progress], None] | None = None) -> History:
    """Train every run of the pack for `steps` environment steps."""
    records, seconds, state = [], [], None
    for progress in periods(pack, steps):
        records.append(progress.record)
        seconds.append(progress.seconds)
        state = progress.state
        if watch is not None:
            watch(progress)
    assert state is not None
    return gather(pack, state, records, seconds)
