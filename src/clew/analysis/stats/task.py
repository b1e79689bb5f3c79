"""The finished runs of one task, by arm: what every statistic is computed from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clew.analysis import names
from clew.analysis.results import TASK, Results
from clew.envs import shown_first
from clew.validate import BadInput, known_names

Values = NDArray[np.float64]
Pair = tuple[str, str]
"""(architecture, bonus): an arm, where the task is known."""


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Tail means of one (environment, reward), by architecture and bonus.

    Statistics read the last axis of the tail means, so that one may hold many resamples at once.
    """

    environment: str
    reward: str
    arms: Mapping[Pair, Values]
    """[..., seed], sorted; arms without a finished run are absent."""
    failed: Mapping[Pair, int] = dataclasses.field(default_factory=dict)
    """How many runs of an arm diverged or crashed."""
    lower: str = names.MEMORYLESS
    """The control without a memory."""
    upper: str = names.GIVEN
    """The control that is given what a perfect memory would hold."""
    untrained: frozenset[Pair] = frozenset()
    """Arms of which at least half are zeros put in for runs that diverged or crashed."""

    def silent(self, margin: float) -> bool:
        """Whether no arm succeeds more often than the margin: arms that agree then say nothing."""
        return all(values.mean() <= margin for values in self.arms.values())

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
        """The architectures without the two controls."""
        return tuple(a for a in self.architectures if a not in (self.lower, self.upper))

    @property
    def with_lower(self) -> tuple[str, ...]:
        """The memories, and the control without a memory."""
        return tuple(a for a in self.architectures if a != self.upper)

    @property
    def bonuses(self) -> tuple[str, ...]:
        """Those besides none."""
        return all_bonuses([self])

    def both(self, bonus: str, pool: Iterable[str] | None = None) -> tuple[str, ...]:
        """Those of `pool`, or of the memories, that have runs with `bonus` and without."""
        pool = self.memories if pool is None else pool
        return tuple(a for a in pool if (a, bonus) in self.arms and (a, names.NONE) in self.arms)

    def column(self, bonus: str, architectures: Iterable[str]) -> list[Values]:
        """The arms of one bonus, in this order."""
        return [self.arms[a, bonus] for a in architectures]

    def means(self, bonus: str, architectures: Iterable[str]) -> Values:
        """[..., architecture]: the means over seeds of one bonus's arms."""
        return np.stack([self._means[a, bonus] for a in architectures], -1)

    @cached_property
    def _means(self) -> dict[Pair, Values]:
        return {arm: values.mean(-1) for arm, values in self.arms.items()}

    @cached_property
    def in_log_odds(self) -> Task:
        """The same task with every seed's tail mean as `logit` has it."""
        return rescaled(self, logit)

    def with_failures_as_zero(self) -> Task:
        """The task with every run that diverged or failed counted as no success at all."""
        arms, untrained = dict(self.arms), set()
        for arm, count in self.failed.items():
            finished = arms.get(arm, np.empty(0))
            arms[arm] = np.concatenate([np.zeros(count), finished])
            if 2 * count >= len(arms[arm]):
                untrained.add(arm)
        return dataclasses.replace(self, arms=arms, failed={}, untrained=frozenset(untrained))


def all_bonuses(group: Iterable[Task]) -> tuple[str, ...]:
    """Every bonus but none, of any of the tasks."""
    found = names.ordered((b for t in group for _, b in t.arms), tuple(names.BONUSES))
    return tuple(b for b in found if b != names.NONE)


def logit(values: Values, edge: float = 0.005) -> Values:
    """Log odds of each seed; 0 and 1 are taken as `edge` away, half of a second decimal.

    Where seeds reach 0 or 1, spreads on this scale depend on `edge` (docs/concepts/statistics.md).
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
    runs = results.runs
    runs = runs[(runs["environment"] == environment) & (runs["reward"] == reward)]
    if not (runs["status"] == "finished").any():
        raise BadInput(f"{environment} / {reward} has no finished run")
    arms: dict[Pair, Values] = {}
    failed: dict[Pair, int] = {}
    for (architecture, bonus), group in runs.groupby(["architecture", "bonus"], sort=True):
        arm = (str(architecture), str(bonus))
        finished = group[group["status"] == "finished"]
        if finished["bonus_coef"].nunique() > 1:
            several = ", ".join(f"{c:g}" for c in sorted(finished["bonus_coef"].unique()))
            raise BadInput(
                f"{environment} / {reward} / {architecture} / {bonus} was run with several "
                f"coefficients ({several}); choose one with `only(bonus_coef=…)`, "
                "or look at the sweep"
            )
        if len(finished):
            arms[arm] = np.sort(finished["tail_mean"].to_numpy(float))
        if lost := int(group["status"].isin(["diverged", "failed"]).sum()):
            failed[arm] = lost
    return Task(environment, reward, arms, failed, results.lower, results.upper)
