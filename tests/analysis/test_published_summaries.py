"""Published statistics of tasks whose seeds were not printed, from printed means and deviations.

Means and deviations have two decimals, so each is moved within its rounding many times, and a
printed statistic must lie in the range that this gives. MysteryPath with the distractor is the
exception: its printed separation, F and the residual of the three-way table that contains it are
reached only if nearly all roundings go the same way, which is tested as such.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from clew.analysis import Results, published, published_success
from clew.analysis.names import NONE, task_label
from clew.analysis.report import compare_with_published
from clew.analysis.stats.interaction import three_way, two_way
from clew.analysis.stats.spread import dispersion, separation
from clew.analysis.stats.task import Task
from tests.analysis.matrix import standard_ranks

TABLE = published_success()
RANKS = standard_ranks(10)
HALF = 0.005
Tasks = dict[str, Task]
Statistic = Callable[[Tasks], float]

THREE_WAY = {  # sum of squares, F, ω²
    ("architecture",): (5.732, 842.9, 0.274),
    ("bonus",): (3.975, 2338.3, 0.190),
    ("reward",): (3.962, 776.8, 0.189),
    ("architecture", "bonus"): (1.920, 282.4, 0.091),
    ("architecture", "reward"): (0.893, 43.8, 0.042),
    ("bonus", "reward"): (3.274, 641.9, 0.156),
    ("architecture", "bonus", "reward"): (0.553, 27.1, 0.025),
}
BY_VARIANT = {  # F of architecture × bonus, its partial ω²
    "MPG / sparse": (226.4, 0.900),
    "MPG / penalty": (249.9, 0.909),
    "MPG / aligned": (5.2, 0.144),
}
SEP = {
    "MPG / aligned": (0.196, 0.206, 0.245),
    "S13 / distractor": (0.116, 0.095, 0.106),
    "S13 7×7 / sparse": (0.104, 0.014, 0.010),
}
DISPERSION = {
    "Tiny / sparse": (0.2046, 0.2099, 0.2059),
    "Tiny / dense": (0.2070, 0.2086, 0.2037),
}
TINY_F = {"Tiny / sparse": (0.35, 1.7), "Tiny / dense": (0.73, 1.2)}


def tasks(jitter: np.ndarray) -> Tasks:
    """Every task, ten seeds an arm, with the printed means and deviations moved by `jitter`."""
    mean = np.clip(TABLE["mean"].to_numpy() + jitter[0], 0, 1)
    std = np.clip(TABLE["std"].to_numpy() + jitter[1], 0, None)
    arms: dict[tuple[str, str], dict[tuple[str, str], np.ndarray]] = {}
    for row, m, s in zip(TABLE.itertuples(), mean, std, strict=True):
        here = arms.setdefault((str(row.environment), str(row.reward)), {})
        here[str(row.architecture), str(row.bonus)] = m + s * RANKS
    return {task_label(*key): Task(*key, found) for key, found in arms.items()}


RNG = np.random.default_rng(0)
DRAWN = [tasks(HALF * RNG.uniform(-1, 1, (2, len(TABLE)))) for _ in range(120)]


def likely(statistic: Statistic, printed: float, decimals: int) -> bool:
    found = [statistic(drawn) for drawn in DRAWN]
    half = 0.5 * 10.0**-decimals
    return min(found) - half <= printed <= max(found) + half


def possible(statistic: Statistic, printed: float, decimals: int, reward: str) -> bool:
    """Whether it is reached where every rounding of one variant pushes the same way."""
    here = np.flatnonzero(TABLE["environment"].eq("MysteryPath-Grid") & TABLE["reward"].eq(reward))
    slope = np.zeros((2, len(TABLE)))
    for kind, arm in np.ndindex(2, len(here)):
        step = np.zeros_like(slope)
        step[kind, here[arm]] = 1e-4
        slope[kind, here[arm]] = statistic(tasks(step)) - statistic(tasks(-step))
    ends = [statistic(tasks(HALF * sign * np.sign(slope))) for sign in (-1, 1)]
    half = 0.5 * 10.0**-decimals
    return min(ends) - half <= printed <= max(ends) + half


def sep(label: str, bonus: str, measure: Callable = separation) -> Statistic:
    def value(drawn: Tasks) -> float:
        task = drawn[label]
        return float(measure(task.means(bonus, task.memories)))

    return value


def interaction(label: str, bonus: str, name: str) -> Statistic:
    return lambda drawn: getattr(
        two_way(drawn[label], bonus, permutations=0).anova.effects[-1], name
    )


def three(drawn: Tasks):
    chosen = [drawn[f"MPG / {r}"] for r in ("sparse", "penalty", "aligned", "distractor")]
    return three_way(chosen, "e3b", permutations=0).anova


@pytest.mark.parametrize("label", BY_VARIANT)
def test_interaction_by_variant(label: str) -> None:
    f, partial = BY_VARIANT[label]
    assert likely(interaction(label, "e3b", "f"), f, 1)
    assert likely(interaction(label, "e3b", "partial_omega2"), partial, 3)


@pytest.mark.parametrize("label", TINY_F)
def test_no_interaction_on_tiny_reproduce(label: str) -> None:
    e3b, noveld = TINY_F[label]
    assert likely(interaction(label, "e3b", "f"), e3b, 2)
    assert likely(interaction(label, "noveld", "f"), noveld, 1)


@pytest.mark.parametrize(("label", "printed"), [*SEP.items(), *DISPERSION.items()])
def test_spread(label: str, printed: tuple[float, ...]) -> None:
    measure, decimals = (dispersion, 4) if label in DISPERSION else (separation, 3)
    for bonus, expected in zip((NONE, "e3b", "noveld"), printed, strict=True):
        assert likely(sep(label, bonus, measure), expected, decimals), bonus


def test_three_way_anova_within_mystery_path() -> None:
    tables = [three(drawn) for drawn in DRAWN[:60]]
    assert [tables[0][term].df for term in THREE_WAY] == [4, 1, 3, 4, 12, 3, 12]
    assert tables[0].residual_df == 360
    for term, (ss, _, omega2) in THREE_WAY.items():
        for name, value, half in (("ss", ss, 0.0005), ("omega2", omega2, 0.0005)):
            found = [getattr(t[term], name) for t in tables]
            assert min(found) - half <= value <= max(found) + half, (term, name)


def test_f_of_the_three_way_table_follows_from_its_own_sums_of_squares() -> None:
    """Not from the printed deviations, whose sum lies below the printed residual."""
    mse = 0.612 / 360
    for term, (ss, f, _) in THREE_WAY.items():
        df = three(DRAWN[0])[term].df
        assert ss / df / mse == pytest.approx(f, rel=0.002), term


def test_distractor_numbers_are_at_the_edge_of_rounding() -> None:
    label = "MPG / distractor"
    edge = [
        (sep(label, NONE), 0.016, 3),
        (interaction(label, "e3b", "f"), 76.4, 1),
        (lambda drawn: three(drawn).residual_ss, 0.612, 3),
    ]
    for statistic, printed, decimals in edge:
        assert not likely(statistic, printed, decimals)
        assert possible(statistic, printed, decimals, "distractor")
    assert likely(sep(label, "e3b"), 0.184, 3)
    assert likely(sep(label, "noveld"), 0.167, 3)


def test_readings_of_one_published_world_are_each_compared() -> None:
    runs = published().only(environment="MysteryPath-Grid", architecture="GRU").runs
    other = runs.assign(
        environment="MysteryPath-Grid[fall=restart]", tail_mean=runs["tail_mean"] / 2
    )
    both = compare_with_published(Results.from_frames(pd.concat([runs, other])))
    found = {(c.arm[0], c.arm[3]): c.agreement for c in both}
    assert found["MysteryPath-Grid", "e3b"] == "agrees"
    assert found["MysteryPath-Grid[fall=restart]", "e3b"] == "differs"
