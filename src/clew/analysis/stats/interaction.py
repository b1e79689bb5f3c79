"""Does the bonus's effect depend on the architecture, and that on the reward?"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from clew.analysis.names import NONE
from clew.analysis.stats.anova import Anova, Codes, Design, anova
from clew.analysis.stats.bootstrap import PERMUTATIONS, generator
from clew.analysis.stats.task import Task, Values
from clew.validate import BadInput

ARCHITECTURE, BONUS, REWARD = "architecture", "bonus", "reward"
TWO_WAY: tuple[str, ...] = (ARCHITECTURE, BONUS)
THREE_WAY: tuple[str, ...] = (ARCHITECTURE, BONUS, REWARD)


@dataclasses.dataclass(frozen=True)
class Interaction:
    """The analysis of variance, and the interaction's p without its assumptions."""

    bonus: str
    architectures: tuple[str, ...]
    anova: Anova
    p_permutation: float
    """(1 + permutations whose F is as large) / (1 + permutations); NaN where there is no F, or no
    permutation was asked for."""
    p_study: float
    """The same with the interaction's sum of squares in F's place. Permuted labels put the main
    effect of the bonus into the noise, which F divides by and the sum of squares does not:
    where the bonus has a main effect, this p is too large. Of the readings that were tried it
    matches the p that the study printed best."""

    @property
    def f(self) -> float:
        """Of the highest interaction."""
        return self.anova.effects[-1].f


def two_way(task: Task, bonus: str, permutations: int = PERMUTATIONS) -> Interaction:
    """Architecture × bonus on one task, over the memory architectures.

    Bonus labels are permuted within each architecture, which keeps the differences between
    architectures and makes the bonus mean nothing. (The permuted data have no main effect of
    the bonus either: the hypothesis that is rejected is 'the bonus does nothing at all'.)
    """
    chosen = task.both(bonus)
    _need(chosen, f"{task.label} with {bonus}")
    y, codes = in_long_form([task], bonus, chosen)
    design = _design(TWO_WAY, *(c.tobytes() for c in codes[:2]))
    rng = generator("permutation", task.environment, task.reward, bonus, *chosen)
    return _interaction(bonus, chosen, y, design, codes[0], rng, permutations)


def three_way(tasks: Sequence[Task], bonus: str, permutations: int = PERMUTATIONS) -> Interaction:
    """Architecture × bonus × reward in one environment; labels permuted within both others."""
    if len({t.environment for t in tasks}) != 1 or len(tasks) < 2:
        raise BadInput("a three-way analysis needs at least two rewards of one environment")
    chosen = shared(tasks, bonus)
    _need(chosen, f"every reward of {tasks[0].environment} with {bonus}")
    y, codes = in_long_form(tasks, bonus, chosen)
    design = _design(THREE_WAY, *(c.tobytes() for c in codes))
    blocks = codes[0] * len(tasks) + codes[2]
    key = (tasks[0].environment, *(t.reward for t in tasks), bonus, *chosen)
    rng = generator("permutation", *key)
    return _interaction(bonus, chosen, y, design, blocks, rng, permutations)


def _interaction(
    bonus: str,
    chosen: tuple[str, ...],
    y: Values,
    design: Design,
    blocks: Codes,
    rng: np.random.Generator,
    permutations: int,
) -> Interaction:
    found = anova(y, design)
    if not permutations or found.why_not:
        return Interaction(bonus, chosen, found, math.nan, math.nan)
    ps = permutation_ps(y, design, blocks, rng, permutations)
    return Interaction(bonus, chosen, found, *ps)


def permutation_ps(
    y: Values, design: Design, blocks: Codes, rng: np.random.Generator, permutations: int
) -> tuple[float, float]:
    """Of the highest interaction: shares of permutations whose F, and sum of squares, reach it.

    Responses are permuted within `blocks`.
    """
    term = design.terms[-1]

    def both(responses: Values) -> Values:
        ss, residual = design.explained(responses, term)
        return np.stack([design.f(ss, residual, term), ss])

    as_large = np.zeros(2)
    # the same labels in another order give the same, but for rounding
    found = (1 - 1e-9) * both(y)
    # to share such small products among threads takes longer than to compute them
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, permutations, 4000):
            size = min(4000, permutations - start)
            shuffled = np.empty((size, len(y)))
            for block in np.unique(blocks):
                inside = np.flatnonzero(blocks == block)
                shuffled[:, inside] = rng.permuted(np.tile(y[inside], (size, 1)), axis=1)
            as_large += np.sum(both(shuffled) >= found[:, None], axis=1)
    of_f, of_ss = (1 + as_large) / (1 + permutations)
    return float(of_f), float(of_ss)


def in_long_form(
    tasks: Sequence[Task], bonus: str, chosen: tuple[str, ...]
) -> tuple[Values, list[Codes]]:
    """All runs in one column, and what each belongs to: architecture, bonus, reward."""
    arms = [
        (task.arms[a, b], (i, j, k))
        for k, task in enumerate(tasks)
        for i, a in enumerate(chosen)
        for j, b in enumerate((NONE, bonus))
    ]
    y = np.concatenate([values for values, _ in arms])
    places = np.array([place for _, place in arms], np.int64)
    each = [len(values) for values, _ in arms]
    return y, [np.repeat(places[:, factor], each) for factor in range(3)]


@functools.lru_cache(maxsize=64)
def _design(factors: tuple[str, ...], *codes: bytes) -> Design:
    """Tasks of one suite mostly have the same design."""
    return Design({f: np.frombuffer(c, np.int64) for f, c in zip(factors, codes, strict=True)})


def shared(tasks: Sequence[Task], bonus: str) -> tuple[str, ...]:
    """The memory architectures that ran with the bonus and without in every task."""
    return tuple(a for a in tasks[0].both(bonus) if all(a in t.both(bonus) for t in tasks))


def _need(chosen: tuple[str, ...], what: str) -> None:
    if len(chosen) < 2:
        raise BadInput(
            f"{what}: an interaction needs two architectures that ran with the bonus and without, "
            f"and there {'is one' if chosen else 'are none'}"
        )
