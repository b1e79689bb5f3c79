"""A task's finished runs, laid out as the statistics want them: architectures × bonuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from clew.analysis import names
from clew.analysis.table import TASK, Results
from clew.envs import shown_first
from clew.validate import BadInput, known_names

Values = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Tail means of one (environment, reward), by arm."""

    environment: str
    reward: str
    arms: Mapping[tuple[str, str], Values]
    """(architecture, bonus) to the sorted tail means of its seeds; arms without any are absent."""

    @property
    def label(self) -> str:
        """'MPG / sparse'."""
        return names.task_label(self.environment, self.reward)

    @property
    def architectures(self) -> tuple[str, ...]:
        """All of them, in the study's order."""
        return names.ordered((a for a, _ in self.arms), names.ARCHITECTURES)

    @property
    def memories(self) -> tuple[str, ...]:
        """The architectures without the memoryless control."""
        return tuple(a for a in self.architectures if a != names.MEMORYLESS)

    @property
    def bonuses(self) -> tuple[str, ...]:
        """Those besides none."""
        found = names.ordered((b for _, b in self.arms), tuple(names.BONUSES))
        return tuple(b for b in found if b != names.NONE)

    def both(self, bonus: str, control: bool = False) -> tuple[str, ...]:
        """Architectures that have runs with `bonus` and without; the control only if asked."""
        pool = self.architectures if control else self.memories
        return tuple(a for a in pool if (a, bonus) in self.arms and (a, names.NONE) in self.arms)

    def column(self, bonus: str, architectures: tuple[str, ...]) -> list[Values]:
        """The arms of one bonus, in this order."""
        return [self.arms[a, bonus] for a in architectures]

    def key(self, architecture: str, bonus: str) -> tuple[str, ...]:
        """What an arm's random draws depend on, and nothing else does."""
        return (self.environment, self.reward, architecture, bonus)


def logit(values: Values, edge: float = 0.005) -> Values:
    """Log odds of each seed; 0 and 1 are taken as `edge` away, half of a second decimal.

    Where seeds reach 0 or 1, spreads on this scale hang on `edge` (docs/statistics.md).
    """
    inside = np.clip(values, edge, 1 - edge)
    return np.log(inside / (1 - inside))


def rescaled(task: Task, scale: Callable[[Values], Values]) -> Task:
    """The same task with every seed's tail mean put on another scale."""
    return dataclasses.replace(task, arms={arm: scale(v) for arm, v in task.arms.items()})


def tasks(results: Results) -> list[Task]:
    """Every task that has a finished run, in the study's order."""
    found = results.finished[list(TASK)].drop_duplicates().itertuples(index=False, name=None)
    pairs = set(found)
    environments = names.ordered((e for e, _ in pairs), shown_first())
    rewards = names.ordered((r for _, r in pairs), names.REWARDS)
    return [task(results, e, r) for e in environments for r in rewards if (e, r) in pairs]


def task(results: Results, environment: str, reward: str) -> Task:
    """One task's finished runs."""
    known_names("environment", [environment], set(results.runs["environment"]))
    runs = results.finished
    runs = runs[(runs["environment"] == environment) & (runs["reward"] == reward)]
    if runs.empty:
        raise BadInput(f"{environment} / {reward} has no finished run")
    arms = {}
    for (architecture, bonus), group in runs.groupby(["architecture", "bonus"], sort=True):
        if group["bonus_coef"].nunique() > 1:
            several = ", ".join(f"{c:g}" for c in sorted(group["bonus_coef"].unique()))
            raise BadInput(
                f"{environment} / {reward} / {architecture} / {bonus} was run with several "
                f"coefficients ({several}); choose one with `only(bonus_coef=…)`, "
                "or look at the sweep"
            )
        arms[str(architecture), str(bonus)] = np.sort(group["tail_mean"].to_numpy(float))
    return Task(environment, reward, arms)
