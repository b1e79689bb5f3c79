"""What a pack recorded so far, as named arrays: to store at the end, to checkpoint before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from clew.learner import Program, TrainState, tail_mean
from clew.learner.agent import components
from clew.learner.run import EvalPeriod

CURVE, DIAGNOSTICS = "evaluation/", "rollouts/"
SCORES = ("bonus", "normalised")
Named = dict[str, np.ndarray]


class TrainingRecords:
    """Arrays [run, time, …] by name; time counts evaluations or rollouts."""

    def __init__(self, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        self.arrays: Named = dict(arrays or {})

    def add(self, period: EvalPeriod) -> None:
        """Append a period."""
        for path, leaf in jax.tree_util.tree_leaves_with_path(period):
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            new = np.asarray(leaf)
            new = new[:, None] if name.startswith(CURVE) else new
            old = self.arrays.get(name)
            self.arrays[name] = new if old is None else np.concatenate((old, new), 1)

    def curve(self, run: int) -> Named:
        """One run's evaluations."""
        return self._of(run, CURVE)

    def diagnostics(self, run: int, without_bonus: bool = False) -> Named:
        """One run's rollouts.

        A run without a bonus may lodge in the program of one, whose scores are not its own.
        """
        found = self._of(run, DIAGNOSTICS)
        if without_bonus:
            found |= dict.fromkeys(SCORES, found["delivered"])  # which is nothing, if sound
        return found

    def _of(self, run: int, part: str) -> Named:
        return {
            name.removeprefix(part): array[run].copy()
            for name, array in self.arrays.items()
            if name.startswith(part)
        }


def with_steps(program: Program, curve: Named, diagnostics: Named) -> tuple[Named, Named]:
    """The same, with how many environment steps came before each entry."""
    s = program.settings
    evaluations, rollouts = len(curve["success"]), len(diagnostics["reward"])
    return (
        {"steps": s.period * np.arange(1, evaluations + 1), **curve},
        {"steps": s.rollout * np.arange(1, rollouts + 1), **diagnostics},
    )


def result_of(
    program: Program, state: TrainState, run: int, curve: Named, diagnostics: Named
) -> Any:
    """What a finished run comes to, as plain data."""
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
