"""The published statistics come out of the published seeds, as far as two decimals allow.

Every expected number is printed in the study. The tolerance is computed, not chosen: the range that
the statistic spans when every seed is moved within its rounding, plus the rounding of the printed
number itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clew.analysis import Statistics, TaskStatistics, published, published_success
from clew.analysis.names import NONE
from clew.analysis.results import records
from clew.analysis.stats.anova import Design, anova
from clew.analysis.stats.interaction import in_long_form
from clew.analysis.stats.spread import dispersion, dispersion_ratio, separation
from clew.analysis.stats.success import iqm, learnt, wins
from clew.analysis.stats.task import Task
from rounding import rounding_range

FOUND: dict[str, TaskStatistics] = dict(
    zip(("MPG", "S13"), Statistics(published()).tasks, strict=True)
)
ANOVA = {  # architecture, bonus, interaction; partial ω² of the interaction where printed
    ("MPG", "e3b"): (271.4, 1300.1, 226.4),
    ("MPG", "noveld"): (274.6, 1356.7, 234.7),
    ("S13", "e3b"): (7.6, 162.7, 22.1),
    ("S13", "noveld"): (17.9, 137.3, 8.0),
}
P_PERMUTATION = {("MPG", "e3b"): 0.0002, ("S13", "e3b"): 0.00005, ("S13", "noveld"): 0.021}
DISPERSION = {
    ("MPG", NONE): 0.0007, ("MPG", "e3b"): 0.0440, ("MPG", "noveld"): 0.0363,
    ("S13", NONE): 0.0300, ("S13", "e3b"): 0.0080, ("S13", "noveld"): 0.0057,
}  # fmt: skip
RATIO = {
    ("MPG", "e3b"): (63.2, 42.1, 101.6),
    ("MPG", "noveld"): (52.1, 34.6, 83.8),
    ("S13", "e3b"): (0.27, 0.06, 0.84),
    ("S13", "noveld"): (0.19, 0.06, 0.59),
}
SEP = {
    ("MPG", False): (0.024, 0.188, 0.170), ("MPG", True): (0.043, 0.221, 0.196),
    ("S13", False): (0.155, 0.080, 0.068), ("S13", True): (0.173, 0.170, 0.159),
}  # fmt: skip
DELTA = {
    ("MPG", False): (0.153, 0.175), ("MPG", True): (0.170, 0.188),
    ("S13", False): (-0.128, -0.013), ("S13", True): (-0.049, 0.041),
}  # fmt: skip
POI = {
    "MPG": {"GRU": (0.95, 0.97), "LSTM": (0.98, 1.00), "RetNet": (1.00, 1.00),
            "GatedDeltaNet": (1.00, 1.00), "Mamba-2": (1.00, 1.00), "Memoryless": (0.00, 0.02)},
    "S13": {"GRU": (1.00, 1.00), "LSTM": (1.00, 1.00), "RetNet": (1.00, 1.00),
            "GatedDeltaNet": (0.85, 0.90), "Mamba-2": (0.48, 0.55), "Memoryless": (0.54, 0.65)},
}  # fmt: skip
IQM = {
    ("MPG", NONE): (0.154, 0.149, 0.160), ("MPG", "e3b"): (0.358, 0.345, 0.371),
    ("MPG", "noveld"): (0.336, 0.328, 0.344), ("S13", NONE): (0.546, 0.520, 0.581),
    ("S13", "e3b"): (0.963, 0.941, 0.974), ("S13", "noveld"): (0.953, 0.919, 0.969),
}  # fmt: skip
LEARNT = {
    "GRU": (0, 10, 8), "LSTM": (0, 10, 10), "RetNet": (0, 10, 8),
    "GatedDeltaNet": (8, 10, 10), "Mamba-2": (9, 7, 10),
}  # fmt: skip
GAINS = {
    ("MPG", "LSTM"): (0.03, 0.02, 0.05), ("MPG", "GRU"): (0.04, 0.03, 0.06),
    ("MPG", "RetNet"): (0.40, 0.37, 0.44), ("MPG", "GatedDeltaNet"): (0.46, 0.44, 0.49),
    ("S13", "Mamba-2"): (-0.10, -0.26, 0.06),
}  # fmt: skip


def of(label: str) -> Task:
    return FOUND[label].task


def agrees(statistic: Callable[[Task], float], task: Task, printed: float, decimals: int) -> bool:
    low, high = rounding_range(statistic, task)
    half = 0.5 * 10.0**-decimals
    return low - half <= printed <= high + half


def means(task: Task, bonus: str, control: bool = False) -> np.ndarray:
    return task.means(bonus, task.architectures if control else task.memories)


@pytest.mark.parametrize(("label", "bonus"), ANOVA)
def test_anova(label: str, bonus: str) -> None:
    def f(task: Task, term: int) -> float:
        y, codes = in_long_form([task], bonus, task.memories)
        return anova(y, Design({"architecture": codes[0], "bonus": codes[1]})).effects[term].f

    for term, printed in enumerate(ANOVA[label, bonus]):
        assert agrees(lambda t, i=term: f(t, i), of(label), printed, 1)


@pytest.mark.parametrize(("label", "bonus"), P_PERMUTATION)
def test_permutation_p_is_of_the_sum_of_squares(label: str, bonus: str) -> None:
    found = FOUND[label].interactions[bonus]
    printed = P_PERMUTATION[label, bonus]
    # three standard errors of a share of 20,000 permutations, and of one that was seen never
    assert abs(found.p_study - printed) <= 3 * np.sqrt(printed / 20_000) + 2 / 20_000
    assert found.p_permutation <= found.p_study


@pytest.mark.parametrize(("label", "bonus"), DISPERSION)
def test_dispersion(label: str, bonus: str) -> None:
    printed = DISPERSION[label, bonus]
    assert agrees(lambda t: float(dispersion(means(t, bonus))), of(label), printed, 4)


@pytest.mark.parametrize(("label", "bonus"), RATIO)
def test_dispersion_ratio_and_interval(label: str, bonus: str) -> None:
    printed, low, high = RATIO[label, bonus]
    ratio = lambda t: float(dispersion_ratio(t, bonus, t.memories))  # noqa: E731
    assert agrees(ratio, of(label), printed, 1 if label == "MPG" else 2)
    found = FOUND[label].spread(bonus).ratio
    # the bootstrap's own noise, and the rounded data: a tenth of the width
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.1 * (high - low))


@pytest.mark.parametrize(("label", "control"), SEP)
def test_separation_index(label: str, control: bool) -> None:
    task = of(label)
    for bonus, printed in zip((NONE, "e3b", "noveld"), SEP[label, control], strict=True):
        sep = lambda t, b=bonus: float(separation(means(t, b, control)))  # noqa: E731
        assert agrees(sep, task, printed, 3)
    found = FOUND[label].spread("e3b", "with the control" if control else "memories").delta
    assert [found.low, found.high] == pytest.approx(DELTA[label, control], abs=0.004)


@pytest.mark.parametrize("label", POI)
def test_probability_of_improvement(label: str) -> None:
    for architecture, printed in POI[label].items():
        for bonus, expected in zip(("e3b", "noveld"), printed, strict=True):
            arms = (architecture, bonus), (architecture, NONE)
            poi = lambda t, a=arms: float(wins(t.arms[a[0]], t.arms[a[1]]))  # noqa: E731
            assert agrees(poi, of(label), expected, 2), (architecture, bonus)


@pytest.mark.parametrize(("label", "bonus"), IQM)
def test_interquartile_mean(label: str, bonus: str) -> None:
    printed, low, high = IQM[label, bonus]
    assert agrees(lambda t: float(iqm(t, bonus)), of(label), printed, 3)
    found = FOUND[label].iqm[bonus]
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.002)


def test_seed_counts_exactly() -> None:
    for architecture, printed in LEARNT.items():
        arms = [of("S13").arms[architecture, b] for b in (NONE, "e3b", "noveld")]
        assert [10 * learnt(values).estimate for values in arms] == pytest.approx(printed)


@pytest.mark.parametrize(("label", "architecture"), GAINS)
def test_gains(label: str, architecture: str) -> None:
    (found,) = (
        gain.bootstrap
        for gain in FOUND[label].gains
        if (gain.architecture, gain.bonus) == (architecture, "e3b")
    )
    # both the seeds and the printed numbers are rounded to two decimals
    got = [found.estimate, found.low, found.high]
    assert got == pytest.approx(GAINS[label, architecture], abs=0.0101)


def test_the_studys_own_caution_on_the_scale() -> None:
    """'A logit transform yields an E3B dispersion ratio near 1.0': it does at our clip of 0.005.

    The study names no clip, and other ones give 0.3 to 1.5 (benchmarks/choices.py).
    """
    ratios = {label: FOUND[label].spread("e3b", "in log odds").ratio for label in FOUND}
    assert ratios["S13"].estimate == pytest.approx(1.0, abs=0.05)
    assert ratios["MPG"].low > 10


def test_seed_vectors_have_the_published_means_and_deviations() -> None:
    arm = ["environment", "reward", "architecture", "bonus"]
    table = {tuple(row[c] for c in arm): row for row in records(published_success())}
    for task in map(of, FOUND):
        for (architecture, bonus), values in task.arms.items():
            row = table[task.environment, task.reward, architecture, bonus]
            # each printed to two decimals, of seeds that are off by as much
            assert abs(values.mean() - row["mean"]) <= 0.0101
            assert abs(values.std(ddof=1) - row["std"]) <= 0.0101
