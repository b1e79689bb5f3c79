"""Train a pack, period by period, and keep what is recorded."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from clew.learner.checkpoint import Named, named_leaves
from clew.learner.evaluate import Evaluation
from clew.learner.pack import Pack
from clew.learner.run import EvalPeriod, RolloutRecord, TrainState
from clew.learner.settings import Settings
from clew.metrics import tail_mean
from clew.validate import BadInput, whole_number

CURVE, DIAGNOSTICS = "evaluation/", "rollouts/"


class Progress(NamedTuple):
    """A pack after an evaluation period."""

    period: int
    """Periods done, this one included."""
    periods: int
    state: TrainState
    """To save, if it is to be resumed; the next period donates it."""
    record: EvalPeriod
    seconds: float
    """Wall time of this period, compilation apart."""


def periods_in(pack: Pack, steps: int) -> int:
    """How many periods fit into a budget of environment steps; what is left over is not spent."""
    if not isinstance(pack, Pack):
        raise BadInput(
            f"pack is of type {type(pack).__name__}, and must be a Pack of an environment, a "
            'reward and an architecture, such as Pack.of("TinyReproduce", "dense", "GRU")'
        )
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
    if state is None:
        state = pack.prepare()
    elif done < total:
        pack.compile(state)
    try:
        for period in range(done + 1, total + 1):
            began = time.perf_counter()
            state, record = pack.advance(state)
            record = jax.device_get(record)
            yield Progress(period, total, state, record, time.perf_counter() - began)
    finally:
        pack.close()


def train(pack: Pack, steps: int, watch: Callable[[Progress], None] | None = None) -> History:
    """Train every run of the pack for `steps` environment steps, as far as periods are whole.

    A period takes `pack.program.settings.period`; what is left over is not spent.
    """
    periods_in(pack, steps)
    history = History(pack.program.settings)
    for progress in periods(pack, steps):
        history.add(progress)
        if watch is not None:
            watch(progress)
    return history


@dataclasses.dataclass
class History:
    """What a pack has recorded so far."""

    settings: Settings
    arrays: Named = dataclasses.field(default_factory=dict)
    """[run, time, …] by the path in `EvalPeriod`; time counts evaluations or rollouts."""
    seconds: float = 0.0
    """Wall time of all periods, compilation apart."""
    first_success: Int[np.ndarray, " run"] = dataclasses.field(default_factory=lambda: np.zeros(0))
    """Environment steps before the first success in training; −1 for never."""
    diverged: Int[np.ndarray, " run"] = dataclasses.field(default_factory=lambda: np.zeros(0))
    """Environment steps before a loss was not finite; −1 for never."""
    latest: EvalPeriod | None = None
    """The record of the last period."""

    def add(self, now: Progress) -> None:
        """Append a period."""
        for name, leaf in named_leaves(now.record).items():
            new = np.asarray(leaf)[:, None] if name.startswith(CURVE) else np.asarray(leaf)
            old = self.arrays.get(name)
            self.arrays[name] = new if old is None else np.concatenate((old, new), 1)
        self.latest = now.record
        self.seconds += now.seconds
        # copies: the next period donates the state
        self.first_success = np.array(now.state.first_success)
        self.diverged = np.array(now.state.diverged)

    @property
    def evaluations(self) -> Evaluation:
        """Fields [run, evaluation, …]."""
        return self._record.evaluation

    @property
    def rollouts(self) -> RolloutRecord:
        """Fields [run, rollout, …]."""
        return self._record.rollouts

    @property
    def tail_mean(self) -> Float[np.ndarray, " run"]:
        """Mean success over the final fifth of the evaluations; NaN for a run that diverged."""
        return tail_mean(self.arrays[CURVE + "success"])

    @property
    def evaluated_at(self) -> Int[np.ndarray, " evaluation"]:
        """Environment steps of a run before each evaluation."""
        return self.settings.period * np.arange(1, self.arrays[CURVE + "success"].shape[1] + 1)

    @property
    def steps_per_second(self) -> float:
        """Environment steps of all runs in a second of training, evaluations included."""
        steps = len(self.first_success) * self.evaluated_at[-1]
        return float(steps / max(self.seconds, 1e-9))

    def curve(self, run: int, periods: int | None = None) -> Named:
        """One run's evaluations by name, with the environment steps before each; all of them, or
        those of the last `periods`."""
        return self._of_run(run, CURVE, self.settings.period, periods)

    def diagnostics(self, run: int, periods: int | None = None) -> Named:
        """The same of its rollouts, with the environment steps before the end of each."""
        last = None if periods is None else periods * self.settings.eval_every
        return self._of_run(run, DIAGNOSTICS, self.settings.rollout, last)

    def _of_run(self, run: int, part: str, length: int, last: int | None) -> Named:
        found = {
            name.removeprefix(part): array[run]
            for name, array in self.arrays.items()
            if name.startswith(part)
        }
        steps = length * np.arange(1, len(found["reward"]) + 1)
        begin = 0 if last is None else max(0, len(steps) - last)
        return {name: array[begin:].copy() for name, array in {"steps": steps, **found}.items()}

    @property
    def _record(self) -> EvalPeriod:
        assert self.latest is not None
        leaves = [self.arrays[name] for name in named_leaves(self.latest)]
        return jax.tree.unflatten(jax.tree.structure(self.latest), leaves)
