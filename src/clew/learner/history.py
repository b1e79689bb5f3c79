"""What a training run leaves behind: curves, and the one number that counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float, Int

from clew.learner.evaluate import Evaluation
from clew.learner.pack import Pack
from clew.learner.run import EvalPeriod, RolloutRecord, TrainState

TAIL = 0.2


@dataclasses.dataclass(frozen=True)
class History:
    """The record of a pack. Everything has a leading axis over runs, then one over time."""

    evaluations: Evaluation
    """Fields [run, evaluation, …]."""
    rollouts: RolloutRecord
    """Fields [run, rollout, …]."""
    evaluated_at: Int[np.ndarray, " evaluation"]
    """Environment steps before each evaluation."""
    first_success: Int[np.ndarray, " run"]
    """Environment steps before the first success in training; −1 for never."""
    diverged: Int[np.ndarray, " run"]
    """Environment steps before a loss was not finite; −1 for never."""
    seconds: Float[np.ndarray, " period"]
    """Wall time of each period, compilation apart."""
    steps_per_second: float
    """Environment steps of all runs together in a second of training, evaluations included."""

    @property
    def tail_mean(self) -> Float[np.ndarray, " run"]:
        """Mean success over the final fifth of the evaluations; NaN for a run that diverged."""
        return tail_mean(np.asarray(self.evaluations.success))


def tail_mean(success: Float[np.ndarray, "*run evaluation"]) -> Float[np.ndarray, "*run"]:
    """Mean over the final 20% of evaluations, at least one."""
    n = success.shape[-1]
    return np.mean(success[..., n - max(1, round(TAIL * n)) :], axis=-1)


def gather(
    pack: Pack, state: TrainState, periods: Sequence[EvalPeriod], seconds: Sequence[float]
) -> History:
    """Put the periods of a run together."""
    rollouts = jax.tree.map(
        lambda *x: np.concatenate(x, 1), *(period.rollouts for period in periods)
    )
    evaluations = jax.tree.map(
        lambda *x: np.stack(x, 1), *(period.evaluation for period in periods)
    )
    length = pack.program.settings.period
    return History(
        evaluations=evaluations,
        rollouts=rollouts,
        evaluated_at=length * np.arange(1, len(periods) + 1),
        first_success=np.asarray(state.first_success),
        diverged=np.asarray(state.diverged),
        seconds=np.asarray(seconds),
        steps_per_second=len(pack) * length * len(periods) / max(sum(seconds), 1e-9),
    )
