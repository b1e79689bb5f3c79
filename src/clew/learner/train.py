"""Train a pack: compiled legs, and everything that needs Python in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax

from clew.learner.history import History, gather
from clew.learner.pack import Pack
from clew.learner.run import Leg, State
from clew.validate import BadInput, whole_number


class Progress(NamedTuple):
    """Where a pack stands after a leg."""

    leg: int
    """Legs done, this one included."""
    legs: int
    state: State
    """To save, if it is to be resumed; the next leg uses it up."""
    record: Leg
    seconds: float
    """Wall time of this leg, compilation apart."""


def legs_in(pack: Pack, steps: int) -> int:
    """How many legs a budget of environment steps pays for; what is left over is not spent."""
    length = pack.program.settings.leg
    if whole_number("steps", steps, 1) < length:
        raise BadInput(
            f"steps={steps} is not valid; one leg (eval_every × envs × steps of a rollout) "
            f"takes {length}"
        )
    return steps // length


def legs(pack: Pack, steps: int, state: State | None = None, done: int = 0) -> Iterator[Progress]:
    """Train leg by leg. To resume, give the state after `done` legs."""
    total = legs_in(pack, steps)
    state = pack.begin() if state is None else state
    if done < total:
        pack.compile(state)
    for leg in range(done + 1, total + 1):
        began = time.perf_counter()
        state, record = pack.advance(state)
        record = jax.device_get(record)
        yield Progress(leg, total, state, record, time.perf_counter() - began)


def train(pack: Pack, steps: int, watch: Callable[[Progress], None] | None = None) -> History:
    """Train every run of the pack for `steps` environment steps."""
    records, seconds, state = [], [], None
    for progress in legs(pack, steps):
        records.append(progress.record)
        seconds.append(progress.seconds)
        state = progress.state
        if watch is not None:
            watch(progress)
    assert state is not None
    return gather(pack, state, records, seconds)
